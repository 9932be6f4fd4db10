import type { FieldErrors } from '../resource/field-errors.ts';
import { isIdOf, parseId } from '../resource/ids.ts';
import { faultOfLengths, idCheck } from '../resource/links/fields.ts';
import type { LinkChange } from '../resource/links/plan.ts';

export const HOST_FIELD = 'host_source_ids';

/** Each session asks all of them for a host. */
export const MOST_HOST_SETS = 64;
/** Of both purposes together; each session is given something by each of them. */
export const MOST_CREDENTIAL_SOURCES = 64;

/** @see B-47 */
export const checkHostSources = idCheck(HOST_FIELD, (id) =>
  isIdOf(id, 'host-set') ? undefined : `Incorrectly formatted host source identifier "${id}".`,
);

/** What credentials are for: shown to the client, or used by the worker on its behalf. */
export type Purpose = 'brokered' | 'injected_application';

export const PURPOSES: readonly Purpose[] = ['brokered', 'injected_application'];

export const fieldOf = (purpose: Purpose) => `${purpose}_credential_source_ids` as const;

/** Ids of sources, by what they are for. */
export type SourcesByPurpose = Readonly<Record<Purpose, readonly string[]>>;

/** Kinds of sources that can serve a purpose. */
const KINDS: Readonly<Record<Purpose, readonly string[]>> = {
  brokered: [
    'vault-generic',
    'vault-ldap',
    'authority-certificate',
    'username_password',
    'username_password_domain',
    'password',
    'ssh_private_key',
    'json',
  ],
  injected_application: [
    'vault-generic',
    'vault-ssh-certificate',
    'vault-ldap',
    'username_password',
    'username_password_domain',
    'ssh_private_key',
  ],
};

/** @see B-66 */
export function checkCredentialSources(
  item: { readonly [Field in ReturnType<typeof fieldOf>]?: readonly string[] | undefined },
  errors: FieldErrors,
  { change }: { change: LinkChange },
): SourcesByPurpose {
  const named = {
    brokered: item.brokered_credential_source_ids ?? [],
    injected_application: item.injected_application_credential_source_ids ?? [],
  };
  const empty = PURPOSES.every((purpose) => named[purpose].length === 0);
  for (const purpose of PURPOSES) {
    const field = fieldOf(purpose);
    const because =
      empty && change !== 'set'
        ? 'Brokered or Injected Application Credential Source IDs must be provided.'
        : (faultOfLengths(named[purpose]) ?? faultOfSources(named[purpose], purpose, change));
    if (because !== undefined) errors.add(field, because);
  }
  return named;
}

function faultOfSources(
  ids: readonly string[],
  purpose: Purpose,
  change: LinkChange,
): string | undefined {
  const strange = ids.find((id) => !canServe(id, purpose, change));
  return strange === undefined
    ? undefined
    : `Incorrectly formatted credential source identifier "${strange}".`;
}

function canServe(id: string, purpose: Purpose, change: LinkChange): boolean {
  const parsed = parseId(id);
  if (parsed?.type !== 'credential' && parsed?.type !== 'credential-library') return false;
  // What was once attached can be taken away.
  if (change === 'remove' && purpose === 'injected_application') {
    if (parsed.subtype === 'json' || parsed.subtype === 'authority-certificate') return true;
  }
  return KINDS[purpose].includes(parsed.subtype);
}
