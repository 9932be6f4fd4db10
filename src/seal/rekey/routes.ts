import { z } from 'zod';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { bare, either, nothing } from '../../app/output.ts';
import { type AnyRoute, type SetElsewhere, vaultRoute } from '../../app/route.ts';
import { Failure, invalid } from '../../core/failure.ts';
import { flag, integer, list, optional, text } from '../../core/fields.ts';
import { type AnswerForm, outputAs, resultAs } from '../answer-form.ts';
import { rejectPgpKeys } from '../initialisation.ts';
import { shareText } from '../share-text.ts';
import {
  newSharesSchema,
  type RekeyStatus,
  type RekeyTarget,
  rekeyStatusSchema,
  verificationSchema,
  verifiedSchema,
} from './attempt.ts';
import {
  cancelRekey,
  type RekeyOutcome,
  readRekey,
  startRekey,
  updateRekey,
} from './operations.ts';
import { readVerification, restartVerification, verifyRekey } from './verification.operations.ts';

const UNCONFIRMED =
  'the database did not confirm that these shares are in force: they open the server all the same; those of before do, too, and can still make others, until one of these is shown: show one soon';

const shareInput = z.object({
  key: optional(text()).describe('One share, as hex or base64.'),
  nonce: optional(text()).describe('Names the attempt that the share is for.'),
});

const startInput = z.object({
  secret_shares: integer(0).describe('How many shares of the new key there will be.'),
  secret_threshold: integer(0).describe('How many of them make the key.'),
  require_verification: flag(false).describe(
    'Whether the new shares must be shown before the new key is in force.',
  ),
  pgp_keys: optional(list()).describe('Not supported.'),
  backup: flag(false).describe('Not supported.'),
  key: optional(text()).describe(
    'One share: puts an attempt aside that nobody has given a share for. It does not count.',
  ),
});

/** Paths of one rekeying: what command lines of before ask for, and what present ones do. */
interface Place {
  /** Begins the ids of its operations. */
  id: string;
  base: `/v1/sys/${string}`;
  form: AnswerForm;
}

const PLACES: Record<RekeyTarget, readonly Place[]> = {
  secret: [
    { id: 'rekey', base: '/v1/sys/rekey', form: 'bare' },
    { id: 'rotate-root', base: '/v1/sys/rotate/root', form: 'data' },
  ],
  recovery: [
    { id: 'rekey-recovery-key', base: '/v1/sys/rekey-recovery-key', form: 'bare' },
    { id: 'rotate-recovery', base: '/v1/sys/rotate/recovery', form: 'data' },
  ],
};

const WHAT: Record<RekeyTarget, string> = { secret: 'unseal keys', recovery: 'recovery keys' };

/** What is done at one of these paths is done at the others. */
function alsoAt(target: RekeyTarget, { base }: Place, end: `/${string}`): SetElsewhere[] {
  return PLACES[target].flatMap((other) =>
    other.base === base ? [] : [{ path: `${other.base}${end}` as const, fields: [], when: [] }],
  );
}

// Public like the unsealing itself: what authorises a rekeying is the shares, and a server whose
// tokens are all lost must still be able to get new ones. Cancelling, and starting a verification
// over, undo what others did, and so they take a token that may.
function attemptRoutes(target: RekeyTarget, place: Place): AnyRoute[] {
  const what = WHAT[target];
  const { id, base, form } = place;
  return [
    vaultRoute({
      id: `${id}-attempt-read-progress`,
      method: 'GET',
      path: `${base}/init`,
      summary: `Read how a rekeying of the ${what} stands`,
      access: 'public',
      input: z.object({}),
      output: outputAs(form, rekeyStatusSchema),
      failures: ['invalid'],
      run: async (app) => resultAs(form, await readRekey(app, target)),
    }),
    vaultRoute({
      id: `${id}-attempt-initialize`,
      method: 'POST',
      path: `${base}/init`,
      summary: `Start a rekeying of the ${what}`,
      access: 'public',
      audit: ['secret_shares', 'secret_threshold', 'require_verification'],
      input: startInput,
      output: outputAs(form, rekeyStatusSchema),
      failures: ['invalid'],
      run: async (app, caller, input) => resultAs(form, await start(app, caller, target, input)),
    }),
    vaultRoute({
      id: `${id}-attempt-cancel`,
      method: 'DELETE',
      path: `${base}/init`,
      summary: `Cancel a rekeying of the ${what}`,
      access: { capability: 'delete', sudo: true },
      sets_also: alsoAt(target, place, '/init'),
      input: z.object({ nonce: optional(text()).describe('If given, that of the attempt.') }),
      output: nothing,
      failures: ['invalid'],
      run: async (app, caller, { nonce }) => {
        await cancelRekey(app, caller, { target, nonce });
        return {};
      },
    }),
    vaultRoute({
      id: `${id}-attempt-update`,
      method: 'POST',
      path: `${base}/update`,
      summary: `Give one share of the present ${what}`,
      access: 'public',
      input: shareInput,
      output: either(outputAs(form, rekeyStatusSchema), newSharesAs(form)),
      failures: ['invalid', 'conflict'],
      run: async (app, caller, input) =>
        tellOutcome(await updateRekey(app, caller, { target, ...input }), form),
    }),
  ];
}

async function start(
  app: App,
  caller: Caller,
  target: RekeyTarget,
  input: z.output<typeof startInput>,
): Promise<RekeyStatus> {
  rejectPgpKeys({ pgp_keys: input.pgp_keys });
  if (input.backup) throw invalid('backup is not supported: shares are told once and not kept');
  const { secret_shares: shares, secret_threshold: threshold, require_verification, key } = input;
  return startRekey(app, caller, { target, shares, threshold, require_verification, key });
}

/** Where there is no envelope the warning stands among the fields. */
const newSharesAs = (form: AnswerForm) =>
  form === 'bare'
    ? bare(newSharesSchema.extend({ warnings: z.array(z.string()).optional() }))
    : newSharesSchema;

/** What whoever gave a share is told; the new shares are wiped. */
function tellOutcome(outcome: RekeyOutcome, form: AnswerForm) {
  if (!outcome.complete) return resultAs(form, outcome.status);
  const texts = outcome.shares.map(shareText);
  for (const share of outcome.shares) share.fill(0);
  const { nonce, verification_nonce } = outcome;
  const status: z.output<typeof newSharesSchema> = {
    nonce,
    complete: true,
    keys: texts.map((share) => share.hex),
    keys_base64: texts.map((share) => share.base64),
    pgp_fingerprints: null,
    backup: false,
    verification_required: verification_nonce !== undefined,
    ...(verification_nonce !== undefined && { verification_nonce }),
  };
  return resultAs(form, status, outcome.confirmed ? undefined : [UNCONFIRMED]);
}

function verificationRoutes(target: RekeyTarget, place: Place): AnyRoute[] {
  const what = WHAT[target];
  const { id, base, form } = place;
  return [
    vaultRoute({
      id: `${id}-verification-read-progress`,
      method: 'GET',
      path: `${base}/verify`,
      summary: `Read how the verification of the new ${what} stands`,
      access: 'public',
      input: z.object({}),
      output: outputAs(form, verificationSchema),
      failures: ['invalid'],
      run: async (app) => resultAs(form, readVerification(app, target)),
    }),
    vaultRoute({
      id: `${id}-verification-update`,
      method: 'POST',
      path: `${base}/verify`,
      summary: `Show one share of the new ${what}`,
      access: 'public',
      input: shareInput,
      output: outputAs(form, z.union([verificationSchema, verifiedSchema])),
      failures: ['invalid', 'conflict'],
      run: async (app, caller, input) =>
        resultAs(form, await verifyRekey(app, caller, { target, ...input })),
    }),
    vaultRoute({
      id: `${id}-verification-cancel`,
      method: 'DELETE',
      path: `${base}/verify`,
      summary: `Start the verification of the new ${what} over`,
      access: { capability: 'delete', sudo: true },
      sets_also: alsoAt(target, place, '/verify'),
      input: z.object({}),
      output: outputAs(form, verificationSchema),
      failures: ['invalid'],
      run: async (app, caller) => resultAs(form, await restartVerification(app, caller, target)),
    }),
  ];
}

/** Backups of shares are never made, so there is nothing to read and nothing to delete. */
function backupRoutes(path: `/v1/sys/${string}`, id: string): AnyRoute[] {
  return [
    vaultRoute({
      id: `rekey-read-${id}`,
      method: 'GET',
      path,
      summary: 'Read the backup of shares (there is none)',
      access: { capability: 'read', sudo: true },
      input: z.object({}),
      output: nothing,
      failures: ['not_found'],
      run: async () => {
        throw new Failure('not_found', 'no backed-up keys found');
      },
    }),
    vaultRoute({
      id: `rekey-delete-${id}`,
      method: 'DELETE',
      path,
      summary: 'Delete the backup of shares (there is none)',
      access: { capability: 'delete', sudo: true },
      input: z.object({}),
      output: nothing,
      failures: [],
      run: async () => ({}),
    }),
  ];
}

export const rekeySystemRoutes: AnyRoute[] = [
  ...(['secret', 'recovery'] as const).flatMap((target) =>
    PLACES[target].flatMap((place) => [
      ...attemptRoutes(target, place),
      ...verificationRoutes(target, place),
    ]),
  ),
  ...backupRoutes('/v1/sys/rekey/backup', 'backup-key'),
  ...backupRoutes('/v1/sys/rekey/recovery-key-backup', 'backup-recovery-key'),
  ...backupRoutes('/v1/sys/rotate/root/backup', 'rotate-root-backup'),
  ...backupRoutes('/v1/sys/rotate/recovery/backup', 'rotate-recovery-backup'),
];
