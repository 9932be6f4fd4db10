import type { App } from '../../../app/app.ts';
import { Failure } from '../../../core/failure.ts';
import { nextBreath } from '../../../core/fairness/breath.ts';
import type { BrokerCaller } from '../../resource/caller.ts';
import { refuseBusy, VaultFault } from '../../vault/client/answer.ts';
import { UnfitValue } from '../libraries/issue-request.ts';
import { issueFromAuthority } from './authority.operations.ts';
import type { Issued, IssueRequest } from './issued.ts';
import { issueFromVault } from './vault.operations.ts';

/**
 * Has a library make a credential for one session.
 *
 * @throws Failure `unresolved` with the words of the Vault server, `unavailable` when it does not
 *   answer, `precondition` when somebody's name cannot stand where the library has it
 */
export async function issueFromLibrary(
  app: App,
  caller: BrokerCaller,
  request: IssueRequest,
): Promise<Issued> {
  const { id, subtype } = request.library;
  // Filling a library in takes some milliseconds: many sessions would otherwise do so in one turn of the event loop.
  await nextBreath();
  try {
    return subtype === 'authority-certificate'
      ? await issueFromAuthority(app, caller, request)
      : await issueFromVault(app, caller, request);
  } catch (error) {
    if (error instanceof UnfitValue) {
      throw new Failure('precondition', `credential library ${id}: ${error.message}`);
    }
    if (error instanceof VaultFault) {
      if (error.kind === 'busy') throw refuseBusy(error);
      const kind = error.kind === 'unreachable' ? 'unavailable' : 'unresolved';
      throw new Failure(kind, `credential library ${id}: ${error.message}`);
    }
    throw error;
  }
}
