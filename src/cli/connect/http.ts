import { invalid } from '../../core/failure.ts';
import { chooseCertificate, chooseLogin } from './credentials.ts';
import { bracketed, endpointHost } from './endpoint.ts';
import type { Tool } from './tool.ts';
import { type ToolRequest, toolCommand } from './tool-command.ts';

export const httpCommand = toolCommand({
  name: 'http',
  summary: 'ask an HTTP target with curl',
  about: `Runs curl on a session. The address is the target's own, so that the server's certificate can be verified;
-host gives the name that the server goes by. A brokered user's name and password, or certificate, log in.`,
  flags: {
    scheme: { value: 'http|https', help: 'how the target is spoken to (https)' },
    host: { value: 'NAME', help: "the server's name in the URL (the target's address)" },
    path: { value: 'PATH', help: 'what is asked for (/)' },
    method: { value: 'METHOD', help: "the request's method (curl's choice)" },
  },
  plan: planHttp,
});

const DEFAULT_PORTS = { http: 80, https: 443 } as const;

/** @see curl(1) */
export function planHttp({ flags, passed, served, secrets }: ToolRequest): Tool {
  const { address, session } = served;
  const scheme = flags.get('scheme') ?? 'https';
  if (scheme !== 'http' && scheme !== 'https') {
    throw invalid(`flag -scheme must be http or https, not "${scheme}"`);
  }
  const { endpoint, endpoint_port: port } = session.authorization;
  const host = bracketed(flags.get('host') ?? endpointHost(endpoint));
  if (!/^(?:\[[0-9A-Fa-f:.]+\]|[\w.-]+)$/.test(host)) {
    throw invalid(`flag -host must be a host's name, not "${host}"`);
  }
  const method = flags.get('method')?.toUpperCase();
  if (method !== undefined && !/^[A-Z]+$/.test(method)) {
    throw invalid(`flag -method must be a method such as POST, not "${method}"`);
  }
  const path = flags.get('path') ?? '/';
  const authority = port === DEFAULT_PORTS[scheme] ? host : `${host}:${port}`;
  const config = configOf(served.session.credentials, secrets);
  return {
    command: 'curl',
    args: [
      // Only what is for the target goes by the session, and by no proxy before it.
      ...['--connect-to', `${host}:${port}:${bracketed(address.host)}:${address.port}`],
      ...['--noproxy', '*', '--globoff'],
      ...(method === undefined ? [] : methodArgs(method)),
      ...(config === '' ? [] : ['--config', secrets().write('curl', config)]),
      `${scheme}://${authority}${path.startsWith('/') ? '' : '/'}${path}`,
      ...passed,
    ],
    env: {},
  };
}

/** An answer to HEAD has no body, which curl would wait for. */
const methodArgs = (method: string): string[] =>
  method === 'HEAD' ? ['--head'] : ['--request', method];

/** A file of options for what must not be an argument; empty for nothing. */
function configOf(credentials: readonly unknown[], secrets: ToolRequest['secrets']): string {
  const { username, password } = chooseLogin(credentials);
  const certificate = chooseCertificate(credentials);
  const lines = [
    ...(username !== undefined && password !== undefined
      ? [['user', `${username}:${password}`]]
      : []),
    ...(certificate
      ? [
          ['cert', secrets().write('certificate', certificate.certificate)],
          ['key', secrets().write('key', certificate.private_key)],
        ]
      : []),
  ];
  return lines.map(([name, value = '']) => `${name} = ${quoteConfig(value)}\n`).join('');
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '"': '\\"',
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
  '\v': '\\v',
};

function quoteConfig(value: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those that curl has a word for.
  return `"${value.replace(/[\\"\t\n\r\x0b]/g, (found) => ESCAPES[found] ?? found)}"`;
}
