import { Failure, invalid } from '../../core/failure.ts';
import { CLIENT_FLAGS, createApiClient } from '../api-client.ts';
import { type Arguments, numberFlag } from '../arguments.ts';
import type { Command } from '../command.ts';
import { formatOf, pairs } from '../output.ts';
import { readStatus } from './status.ts';

const DEFAULT_SHARES = 5;
const DEFAULT_THRESHOLD = 3;

export const initCommand: Command = {
  usage: 'operator init [flags]',
  summary: 'initialise a new server: make its keys and its first token',
  about: `Initialises a new server: makes its keys, their shares and its first token, and shows shares and
token this once. With a seal that opens by itself (a key file, a device, a transit engine) the
shares are of the recovery key, which makes a new root token later and unseals nothing.`,
  flags: {
    ...CLIENT_FLAGS,
    'key-shares': { value: 'N', help: `shares of the unseal key (${DEFAULT_SHARES})` },
    'key-threshold': { value: 'N', help: `how many of them unseal (${DEFAULT_THRESHOLD})` },
    'recovery-shares': {
      value: 'N',
      help: `of a seal that opens by itself: shares of the recovery key (${DEFAULT_SHARES}), 0 for none`,
    },
    'recovery-threshold': {
      value: 'N',
      help: `of a seal that opens by itself: how many of them count (${DEFAULT_THRESHOLD})`,
    },
  },
  async run({ flags }) {
    const format = formatOf(flags);
    const api = createApiClient(flags, process.env);
    const { type, initialized } = await readStatus(api);
    if (initialized === true) throw new Failure('conflict', 'the server is initialised already');
    const kind = type === 'shamir' ? 'unseal' : 'recovery';
    const counts = countsOf(flags, kind);
    const prefix = kind === 'unseal' ? 'secret' : 'recovery';
    const made = await api.call('PUT', 'sys/init', {
      [`${prefix}_shares`]: counts.shares,
      [`${prefix}_threshold`]: counts.threshold,
    });
    console.log(format === 'json' ? jsonOf(made, counts, kind) : textOf(made, counts, kind));
    return 0;
  },
};

type KeyKind = 'unseal' | 'recovery';

interface Counts {
  shares: number;
  threshold: number;
}

function countsOf(flags: Arguments['flags'], kind: KeyKind): Counts {
  const [own, other] = kind === 'unseal' ? ['key', 'recovery'] : ['recovery', 'key'];
  for (const count of ['shares', 'threshold']) {
    if (flags.has(`${other}-${count}`)) {
      throw invalid(`flag -${other}-${count} does not fit the server's seal: use -${own}-${count}`);
    }
  }
  const shares = numberFlag(flags, `${own}-shares`) ?? DEFAULT_SHARES;
  const threshold = numberFlag(flags, `${own}-threshold`) ?? Math.min(shares, DEFAULT_THRESHOLD);
  return { shares, threshold };
}

function sharesIn(made: Record<string, unknown>, kind: KeyKind) {
  const read = (field: string): unknown[] => {
    const value = made[kind === 'unseal' ? field : `recovery_${field}`];
    return Array.isArray(value) ? value : [];
  };
  return { hex: read('keys'), base64: read('keys_base64') };
}

/** The fields that scripts for this API know. */
function jsonOf(made: Record<string, unknown>, counts: Counts, kind: KeyKind): string {
  const { hex, base64 } = sharesIn(made, kind);
  const none = { shares: 0, threshold: 0 };
  const [unseal, recovery] = kind === 'unseal' ? [counts, none] : [none, counts];
  return JSON.stringify(
    {
      unseal_keys_b64: kind === 'unseal' ? base64 : [],
      unseal_keys_hex: kind === 'unseal' ? hex : [],
      unseal_shares: unseal.shares,
      unseal_threshold: unseal.threshold,
      recovery_keys_b64: kind === 'recovery' ? base64 : [],
      recovery_keys_hex: kind === 'recovery' ? hex : [],
      recovery_keys_shares: recovery.shares,
      recovery_keys_threshold: recovery.threshold,
      root_token: made.root_token,
    },
    null,
    2,
  );
}

function textOf(made: Record<string, unknown>, counts: Counts, kind: KeyKind): string {
  const { base64 } = sharesIn(made, kind);
  const name = kind === 'unseal' ? 'Unseal share' : 'Recovery share';
  const lines = pairs([
    ...base64.map((share, index) => [`${name} ${index + 1}`, share] as const),
    ['Root token', made.root_token],
  ]);
  const shared =
    kind === 'unseal'
      ? `Each time this server starts it is sealed, and ${counts.threshold} of the ${counts.shares} shares unseal it. Fewer are of no
use to anybody; if more than ${counts.shares - counts.threshold} are lost, so is everything that the server keeps.`
      : counts.shares === 0
        ? 'There is no recovery key: if all root tokens are lost, no new one can be made.'
        : `${counts.threshold} of the ${counts.shares} recovery shares make a new root token. They unseal nothing: the key file
does that. Keep a copy of it elsewhere; if it is lost, so is everything that the server keeps.`;
  return `${lines}

These are shown now and never again. Write them down, give each share to another person, and
revoke the root token once others can do what is needed.

${shared}`;
}
