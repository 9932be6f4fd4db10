import { whileConnected } from '../access/presence.ts';
import { listGrants } from '../acl/grants.ts';
import { RuleWalk } from '../acl/rule-walk.ts';
import { type App, perApp } from '../app/app.ts';
import type { Caller } from '../app/caller.ts';
import { Failure, invalid } from '../core/failure.ts';
import { FewInTurn } from '../core/fairness/few-in-turn.ts';
import { BUILD_DATE, COMPATIBLE_VERSION } from '../core/version.ts';
import { AUTH_TYPES, SECRET_TYPES } from '../mounts/rules.ts';

/** Versions this server has had; it knows of the present one. */
export async function listVersions() {
  const version = {
    build_date: BUILD_DATE,
    previous_version: null,
    timestamp_installed: BUILD_DATE,
  };
  return { data: { keys: [COMPATIBLE_VERSION], key_info: { [COMPATIBLE_VERSION]: version } } };
}

/** All that the caller's policies come to, for user interfaces. */
export async function readResultantAcl(app: App, caller: Caller) {
  const { acl } = caller;
  if (!acl) throw new Failure('unauthenticated', 'permission denied');
  return resultantOf(app).run(async () => {
    const { exact, wild } = await whileConnected(caller, (requireConnected) =>
      listGrants(acl, new RuleWalk(requireConnected)),
    );
    const shown = (rules: ReadonlyMap<string, string[]>) =>
      Object.fromEntries([...rules].map(([path, capabilities]) => [path, { capabilities }]));
    const paths = { exact_paths: shown(exact), glob_paths: shown(wild) };
    return { data: { root: acl.root, ...paths, chroot_namespace: '' } };
  });
}

/** Of thousands of rules each holds a megabyte until all are put together. */
const resultantOf = perApp(() => new FewInTurn(2));

/** Engines are part of the program: there is nothing to load anew, and saying so is enough. */
export async function reloadPlugins(
  app: App,
  _caller: Caller,
  input: { plugin: string; mounts: readonly string[] },
) {
  if ((input.plugin === '') === (input.mounts.length === 0)) {
    throw invalid('either plugin or mounts is needed, and not both');
  }
  return { data: { reload_id: app.newId() } };
}

/** When data keys are replaced by themselves: never, only when `sys/rotate` asks for it. */
export async function readRotation() {
  return { data: { enabled: false, interval: 0, max_operations: 3_865_470_566 } };
}

/** Names of the engines that there are. */
export async function listPlugins() {
  const auth = [...AUTH_TYPES].sort();
  const secret = [...SECRET_TYPES].sort();
  const detailed = [
    ...auth.map((name) => describePlugin('auth', name)),
    ...secret.map((name) => describePlugin('secret', name)),
  ];
  return { data: { auth, database: [], secret, detailed } };
}

function describePlugin(type: 'auth' | 'secret', name: string) {
  return {
    builtin: true,
    deprecation_status: 'supported',
    name,
    type,
    version: `v${COMPATIBLE_VERSION}+builtin.vault`,
  };
}
