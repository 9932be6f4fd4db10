const MiB = 1 << 20;

/**
 * Bytes that are kept between requests, each of what is kept up to so many: all of them full at once leave a
 * server with a heap of 512 MiB more than half of it.
 */
export const ROOMS = {
  tokens: 11 * MiB,
  persons: 6 * MiB,
  /** Of identity groups, by group. */
  group_parents: 1 * MiB,
  /** What templates of roles name of somebody. */
  told_facts: 2 * MiB,
  permissions: 12 * MiB,
  /** Policies as they were read, lists of them by name, compiled, and compiled before the last change. */
  policies: 12 * MiB,
  policy_lists: 4 * MiB,
  compiled: 10 * MiB,
  compiled_before: 13 * MiB,
  /** Compiled ones with their names in one spelling. */
  spelt: 10 * MiB,
  /** Of the authority. */
  pki_roles: 16 * MiB,
  /** Issuers and keys of mounts; a mount that is full has to fit into a quarter. */
  pki_mount_states: 64 * MiB,
  /** Certificates that were read: outside the heap, but for some words of each. */
  pki_certificates: 8 * MiB,
  ocsp_answers: 8 * MiB,
  /** Outside the heap, as documents are; one list is kept, however long it is. */
  revocation_lists: 40 * MiB,
  /** Those that are short, as they are sent. */
  list_texts: 8 * MiB,
  documents: 8 * MiB,
  /** Of roles, issuers and policies: what each is kept with is little, and what is worked out of it may be much. */
  worked_out: 8 * MiB,
  /** Of log-ins of the broker, when they were used. */
  log_in_uses: 1 * MiB,
  /** Of the broker: as they were read, what all users are allowed, and what single ones are besides. */
  broker_roles: 15 * MiB,
  broker_grants: 1 * MiB,
  everybody: 26 * MiB,
  users: 6 * MiB,
  /** Roles of which one grants much, as they are filed for all who have them. */
  broker_heavy_roles: 10 * MiB,
  /** What was found out of anybody's grants while something was asked: of each scope and type a little. */
  broker_asked: 4 * MiB,
} as const;
