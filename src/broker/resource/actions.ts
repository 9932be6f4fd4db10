/** What can be done, as grants name it. A sub-action is part of the action before its colon. */
export const ACTIONS = [
  'list', 'create', 'update', 'read', 'delete', 'authenticate', 'authorize-session',
  'add-grants', 'remove-grants', 'set-grants', 'add-principals', 'remove-principals',
  'set-principals', 'deauthenticate', 'add-members', 'set-members', 'remove-members',
  'set-password', 'change-password', 'add-hosts', 'set-hosts', 'remove-hosts', 'cancel',
  'add-accounts', 'set-accounts', 'remove-accounts', 'read:self', 'cancel:self', 'change-state',
  'delete:self', 'no-op', 'add-credential-sources', 'set-credential-sources',
  'remove-credential-sources', 'add-host-sources', 'set-host-sources', 'remove-host-sources',
  'create:worker-led', 'create:controller-led', 'add-worker-tags', 'set-worker-tags',
  'remove-worker-tags', 'reinitialize-certificate-authority', 'read-certificate-authority',
  'list-keys', 'rotate-keys', 'list-key-version-destruction-jobs', 'destroy-key-version',
  'download', 'attach-storage-policy', 'detach-storage-policy', 'reapply-storage-policy',
  'add-grant-scopes', 'set-grant-scopes', 'remove-grant-scopes', 'monthly-active-users',
  'list-resolvable-aliases',
] as const; // biome-ignore format: one table

export type Action = (typeof ACTIONS)[number];

/** Names that grants once used, and what to write instead. */
export const DEPRECATED_ACTIONS: Readonly<Record<string, Action>> = {
  'add-host-sets': 'add-host-sources',
  'set-host-sets': 'set-host-sources',
  'remove-host-sets': 'remove-host-sources',
  'add-credential-libraries': 'add-credential-sources',
  'set-credential-libraries': 'set-credential-sources',
  'remove-credential-libraries': 'remove-credential-sources',
};

const KNOWN: ReadonlySet<string> = new Set(ACTIONS);

export function isAction(text: string): text is Action {
  return KNOWN.has(text);
}

/** `read` for `read:self`; the action itself where it is no sub-action. */
export function parentAction(action: string): string {
  const colon = action.indexOf(':');
  return colon < 0 ? action : action.slice(0, colon);
}

const OWN: Readonly<Partial<Record<Action, Action>>> = {
  read: 'read:self',
  delete: 'delete:self',
  cancel: 'cancel:self',
};

/** The form of an action that is granted on what is the caller's own, where there is one. */
export function ownAction(action: Action): Action | undefined {
  return OWN[action];
}
