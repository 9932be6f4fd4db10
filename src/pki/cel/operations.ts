import { commitInTurn, type Planned } from '../../access/standing/attempts.operations.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { DataResult, NothingResult } from '../../app/output.ts';
import { Failure, invalid } from '../../core/failure.ts';
import { listKeys } from '../../core/key-list.ts';
import { requireCompiling } from './evaluation.operations.ts';
import { type CelProgram, type ProgramPatch, patchProgram } from './program.ts';
import {
  deleteCelRole,
  findCelRole,
  listCelRoleNames,
  measureCelRole,
  type StoredCelRole,
  saveCelRole,
} from './store.ts';

type CelRoleAnswer = DataResult<{ name: string; cel_program: CelProgram }>;

const describe = (name: string, cel_program: CelProgram): CelRoleAnswer => ({
  data: { name, cel_program },
});

/** @throws Failure `invalid`, as issuance answers for a role that is not there */
export async function requireCelRole(
  app: App,
  caller: Caller,
  name: string,
): Promise<StoredCelRole> {
  const role = await findCelRole(app.db, caller.mount.id, name);
  if (role) return role;
  throw invalid(`unknown cel role: ${name}`);
}

export async function readCelRole(
  app: App,
  caller: Caller,
  { name }: { name: string },
): Promise<CelRoleAnswer> {
  const role = await findCelRole(app.db, caller.mount.id, name);
  if (!role) throw new Failure('not_found', '');
  return describe(name, role.program);
}

/** Names in byte order, or one page of them. */
export function listCelRoles(
  app: App,
  caller: Caller,
  input: { after?: string | undefined; limit?: number | undefined },
) {
  return listKeys(
    (page) => listCelRoleNames(app.db, { mount_id: caller.mount.id, ...page }),
    input,
  );
}

/** Writes a role whole. */
export async function writeCelRole(
  app: App,
  caller: Caller,
  { name, cel_program }: { name: string; cel_program: ProgramPatch & { expression: string } },
): Promise<CelRoleAnswer> {
  const { variables = [], expression } = cel_program;
  const program = { variables, expression };
  await requireCompiling(app, caller, program);
  return keepRole(app, caller, name, async () => program);
}

/** Changes expressions of a role. */
export async function updateCelRole(
  app: App,
  caller: Caller,
  { name, cel_program = {} }: { name: string; cel_program?: ProgramPatch | undefined },
): Promise<CelRoleAnswer> {
  return keepRole(app, caller, name, async (existing) => {
    if (!existing) throw invalid('Unable to fetch cel role entry to patch');
    const program = patchProgram(existing, cel_program);
    await requireCompiling(app, caller, program);
    return program;
  });
}

async function keepRole(
  app: App,
  caller: Caller,
  name: string,
  plan: (existing: CelProgram | undefined) => Promise<CelProgram>,
): Promise<CelRoleAnswer> {
  const mount_id = caller.mount.id;
  const planNow = async (): Promise<Planned<CelProgram>> => {
    const read = await findCelRole(app.db, mount_id, name);
    const program = await plan(read?.program);
    const next = { program, body_tag: app.newId() };
    const effects = [saveCelRole({ mount_id, name }, { read, next })];
    return { effects, result: program, found: read !== undefined };
  };
  const key = `cel role ${mount_id} ${name}`;
  const bytes = await measureCelRole(app.db, { mount_id, name });
  return describe(name, await commitInTurn(app, caller, planNow, { key, changes: true, bytes }));
}

/** Removes a role; one that is not there is gone already. */
export async function removeCelRole(
  app: App,
  caller: Caller,
  { name }: { name: string },
): Promise<NothingResult> {
  await app.commit(caller, [deleteCelRole(caller.mount.id, name)]);
  return {};
}
