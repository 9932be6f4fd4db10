import { Failure, invalid } from '../core/failure.ts';
import { type Environment, openServer, readTokenFile } from './api-client.ts';
import type { Arguments, FlagTable } from './arguments.ts';
import { REFERENCE, readReference } from './secret-reference.ts';

/** Flags of every command that talks to the access broker of a running server. */
export const BROKER_FLAGS: FlagTable = {
  address: {
    value: 'URL',
    help: 'the server (GATEHOUSE_ADDR or BOUNDARY_ADDR, else this machine)',
  },
  addr: { value: 'URL', help: 'the same' },
  'ca-cert': {
    value: 'FILE',
    help: 'PEM of the authority to trust (GATEHOUSE_CACERT or BOUNDARY_CACERT)',
  },
  'token-file': {
    value: 'FILE',
    help: 'holds the token (else GATEHOUSE_TOKEN or BOUNDARY_TOKEN)',
  },
  token: { value: 'REF', help: `where else the token is: ${REFERENCE}` },
  format: { value: 'json|table', help: 'how what is found is written (table)' },
};

/** The API of the access broker, as commands use it. */
export interface BrokerClient {
  /**
   * @param path below `/v1/`
   * @throws Failure with one line for whoever typed the command
   */
  call(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Record<string, unknown>>;
  /**
   * What is answered with bytes, as they come.
   *
   * @throws Failure as `call` does
   */
  stream(path: string): Promise<AsyncIterable<Uint8Array>>;
}

/** @throws Failure `invalid` for an address, a file or a token that cannot be */
export function createBrokerClient(flags: Arguments['flags'], env: Environment): BrokerClient {
  const reference = flags.get('token');
  if (reference !== undefined && flags.has('token-file')) {
    throw invalid('give either -token or -token-file');
  }
  const server = openServer(
    {
      address: flags.get('address') ?? flags.get('addr') ?? env.GATEHOUSE_ADDR ?? env.BOUNDARY_ADDR,
      ca_file: flags.get('ca-cert') ?? env.GATEHOUSE_CACERT ?? env.BOUNDARY_CACERT,
      token:
        reference === undefined
          ? (readTokenFile(flags) ?? env.GATEHOUSE_TOKEN ?? env.BOUNDARY_TOKEN)
          : readReference('token', reference, env),
    },
    'authorization',
  );
  return {
    async call(method, path, body) {
      const { status, answer } = await server.send(method, path, body);
      if (status >= 200 && status < 300) return answer;
      throw refusal(status, answer, server.hasToken);
    },
    async stream(path) {
      const said = await server.stream(path);
      if ('bytes' in said) return said.bytes;
      throw refusal(said.status, said.answer, server.hasToken);
    },
  };
}

function refusal(status: number, answer: Record<string, unknown>, hasToken: boolean): Failure {
  if (status === 401) {
    const how = hasToken
      ? 'the token is not valid, or not any more: log in with gatehouse authenticate'
      : 'give a token: log in with gatehouse authenticate';
    return new Failure('unauthenticated', `not permitted: ${how}`);
  }
  if (status === 403) {
    return new Failure('forbidden', 'not permitted: no grant of yours allows this');
  }
  const message = typeof answer.message === 'string' ? answer.message : '';
  const said = [message, ...fieldsOf(answer)].filter((text) => text !== '').join('; ');
  return new Failure(
    status === 404 ? 'not_found' : 'invalid',
    `the server answered ${status}${said && `: ${said.replace(/\.$/, '')}`}`,
  );
}

/** What is said against single fields of the request. */
function fieldsOf({ details }: Record<string, unknown>): string[] {
  const listed = objectOf(details).request_fields;
  return (Array.isArray(listed) ? listed : []).map((field) => {
    const { name, description } = objectOf(field);
    return `${String(name ?? '')}: ${String(description ?? '')}`;
  });
}

/** The members of a value that is an object; none of another. */
export function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value))
    : {};
}

/** A member that is a text; the empty text for any other. */
export function textOf(holder: Record<string, unknown>, name: string): string {
  const value = holder[name];
  return typeof value === 'string' ? value : '';
}
