import { type App, perApp } from '../app/app.ts';
import { Failure, invalid } from '../core/failure.ts';
import { type Order, RefusedOrder, type Result } from './orders.ts';
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
 * @throws Failure `unavailable` when module, token or key cannot be reached or used, `rate_limited` when too many
 *   wait; with `makes`, `invalid` for what the token cannot make
 */
export async function askModule(app: App, name: string, order: Order): Promise<Result> {
  const module = requireModule(app, name);
  try {
    return await module.run(order);
  } catch (error) {
    if (!(error instanceof RefusedOrder)) throw error;
    const told = `the module "${name}" did not do it: ${error.message}`;
    const isRequests = error.refusal === 'mechanism' && order.kind.startsWith('make');
    throw isRequests ? invalid(told) : new Failure('unavailable', told);
  }
}

/** PINs that were wrong are tried once more: whoever sets one says that it is right. */
export function forgetRefusedPins(app: App, name: string): void {
  modulesOf(app).get(name)?.forgetRefusedPins();
}
