import { type App, perApp } from '../app/app.ts';
import { inOnePlace } from '../app/one-for-all.ts';
import { Failure, invalid } from '../core/failure.ts';
import {
  type Order,
  RefusedOrder,
  type Result,
  type SignMechanism,
  type TokenRef,
} from './orders.ts';
import { ModuleProcess } from './process.pool.ts';

/** The modules that the configuration names, each with its process. */
const modulesOf = perApp((app) => {
  const modules = new Map(
    app.config.kms_library.map((library) => [
      library.name,
      new ModuleProcess({ ...library, log: app.log }),
    ]),
  );
  const stopAll = async (): Promise<void> => {
    await Promise.all([...modules.values()].map((module) => module.stop()));
  };
  app.onClose(stopAll);
  // The processes know PINs.
  app.barrier.onSeal(stopAll);
  return modules;
});

/** Names of the modules that there are. */
export function listModules(app: App): string[] {
  return [...modulesOf(app).keys()];
}

function requireModule(app: App, name: string): ModuleProcess {
  const module = modulesOf(app).get(name);
  if (module) return module;
  throw new Failure('unavailable', `this server is configured with no kms_library "${name}"`);
}

/**
 * Has a module carry an order out.
 *
 * @param isTried whether it is what the caller asks for, to be refused where the token cannot do it, and not what
 *   worked before: what makes a key is
 * @throws Failure `unavailable` when module, token or key cannot be reached or used, `rate_limited` when too many
 *   wait, `invalid` for what is tried and the token cannot do
 */
export function askModule(
  app: App,
  name: string,
  order: Order,
  isTried = order.kind.startsWith('make'),
): Promise<Result> {
  return askInOnePlace(app, { name, order, isTried });
}

interface AskedOrder {
  name: string;
  order: Order;
  isTried: boolean;
}

/** A module has one process, whichever thread asks: tokens are logged in to once, and their keys used one by one. */
const askInOnePlace = inOnePlace('pkcs11/order', async (app, asked: AskedOrder) => {
  const { name, order, isTried } = asked;
  const module = requireModule(app, name);
  try {
    return await module.run(order);
  } catch (error) {
    if (!(error instanceof RefusedOrder)) throw error;
    const cannot = error.refusal === 'mechanism' && order.kind === 'sign';
    const what = cannot ? `sign by ${nameOfMechanism(order.mechanism)} with this key` : 'do it';
    const told = `the module "${name}" did not ${what}: ${error.message}`;
    const isRequests = error.refusal === 'mechanism' && isTried;
    throw isRequests ? invalid(told) : new Failure('unavailable', told);
  }
});

function nameOfMechanism(mechanism: SignMechanism): string {
  return mechanism.name === 'HASH_RSA_PKCS_PSS'
    ? `CKM_${mechanism.hash.toUpperCase()}_RSA_PKCS_PSS`
    : `CKM_${mechanism.name}`;
}

/** A PIN that was wrong is tried once more: whoever sets it says that it is right. */
export function forgetRefusedPin(app: App, name: string, token: TokenRef): void {
  modulesOf(app).get(name)?.forgetRefusedPin(token);
}
