import {
  ACTIVATION_FAILED,
  ACTIVATION_REFUSED,
  CUT_OFF,
  ENDPOINT_LOST,
  INVALID_HANDSHAKE,
  INVALID_TOFU,
  NO_PROXYING,
  NOT_AUTHORIZED,
  NOT_ESTABLISHED,
  TOFU_NOT_ALLOWED,
} from '../wire/close-codes.ts';

/** Why a connection through a session is not there, or was broken off. */
export type RefusalKind =
  /** TLS: the worker knows of no such session, or not any more. */
  | 'not accepted'
  | 'in use'
  /** By its limit, or since it was canceled or has expired: workers do not tell these apart. */
  | 'no more'
  | 'endpoint'
  | 'unreachable'
  | 'broken off'
  /** By the worker: the session is over, or the worker is. */
  | 'cut'
  | 'protocol';

export interface Refusal {
  kind: RefusalKind;
  /** For whoever typed the command: lower case, no full stop. */
  words: string;
  /** The next connection would fare no better. */
  is_final: boolean;
}

const NOT_ACCEPTED: Refusal = {
  kind: 'not accepted',
  words:
    'the worker does not accept the session: it was canceled, has expired, or is not known there',
  is_final: true,
};
const IN_USE: Refusal = {
  kind: 'in use',
  words: 'the session is in use by another client',
  is_final: true,
};
const NO_MORE: Refusal = {
  kind: 'no more',
  words:
    'the session takes no more connections: its limit is used up, or it was canceled or has expired',
  is_final: true,
};
const ENDPOINT: Refusal = {
  kind: 'endpoint',
  words: 'the worker cannot reach the target',
  is_final: false,
};
const BROKEN_OFF: Refusal = {
  kind: 'broken off',
  words: 'the connection to the worker was broken off',
  is_final: false,
};
const CUT: Refusal = {
  kind: 'cut',
  words: 'the worker has cut the connection off',
  is_final: false,
};
const LOST: Refusal = {
  kind: 'endpoint',
  words: 'the target has broken the connection off',
  is_final: false,
};
const PROTOCOL: Refusal = {
  kind: 'protocol',
  words: 'the worker does not speak as this program does',
  is_final: true,
};

/** Looked for within the reason of a close, since other workers put words around theirs. */
const BY_REASON: readonly (readonly [reason: string, refusal: Refusal])[] = [
  [TOFU_NOT_ALLOWED.reason, IN_USE],
  [NOT_AUTHORIZED.reason, NO_MORE],
  [ACTIVATION_REFUSED.reason, NO_MORE],
  [ACTIVATION_FAILED.reason, NO_MORE],
  [NO_PROXYING.reason, ENDPOINT],
  [NOT_ESTABLISHED.reason, BROKEN_OFF],
  [ENDPOINT_LOST.reason, LOST],
  [CUT_OFF.reason, CUT],
  [INVALID_HANDSHAKE.reason, PROTOCOL],
  [INVALID_TOFU.reason, PROTOCOL],
];

/** What the close of a WebSocket means for the client whose connection it was. */
export function refusalOfClose(code: number, reason: string): Refusal {
  const known = BY_REASON.find(([words]) => reason.includes(words))?.[1];
  if (known) return known;
  // Private codes are of the stage in which the endpoint is dialled.
  if (code >= 3000) return ENDPOINT;
  return code === 1002 || code === 1003 || code === 1008 ? PROTOCOL : BROKEN_OFF;
}

/** Whether a connection ended as one that is over, and not as one that is broken. */
export const isOrderly = (code: number): boolean => code === 1000 || code === 1001 || code === 1005;

const UNREACHABLE: readonly (readonly [code: RegExp, meaning: string])[] = [
  [/^ECONNREFUSED$/, 'nothing listens there'],
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'its host name is not known'],
  [/^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/, 'it does not answer'],
];

/**
 * What an error before the handshake was over means.
 *
 * @param address of the worker, `host:port`
 */
export function refusalOfError(error: unknown, address: string): Refusal {
  const code = String((error instanceof Error && Reflect.get(error, 'code')) || '');
  // The alert by which a worker turns a session down, and those by which it turns down a certificate.
  if (/^ERR_SSL_(TLSV1|TLSV13|SSLV3|SSL\/TLS)_ALERT_/.test(code)) return NOT_ACCEPTED;
  if (code === 'CERT_NOT_YET_VALID' || code === 'CERT_HAS_EXPIRED') {
    return {
      kind: 'not accepted',
      words: `the session's certificate ${code === 'CERT_HAS_EXPIRED' ? 'has run out' : 'is not valid yet'}: is the clock of this machine right?`,
      is_final: true,
    };
  }
  if (/CERT|SELF_SIGNED|UNABLE_TO_/.test(code)) {
    return {
      kind: 'not accepted',
      words: `what answers at ${address} is not the worker of this session`,
      is_final: true,
    };
  }
  const meaning = UNREACHABLE.find(([pattern]) => pattern.test(code))?.[1];
  if (meaning !== undefined) return unreachable(address, meaning);
  if (/^(EPROTO|HPE_|ERR_SSL_)/.test(code)) return unreachable(address, 'it does not speak TLS');
  return unreachable(address, code === '' ? 'it breaks the connection off' : code);
}

function unreachable(address: string, meaning: string): Refusal {
  return {
    kind: 'unreachable',
    words: `no connection to the worker at ${address}: ${meaning}`,
    is_final: false,
  };
}
