import { readFileSync } from 'node:fs';
import { type Config, DEV_DEFAULTS, devConfig, parseConfig } from '../config.ts';
import { Failure } from '../core/failure.ts';
import { startServer } from '../start.ts';
import { type FlagTable, helpText, parseArguments } from './arguments.ts';

const DEV_FLAGS: FlagTable = {
  data: { value: 'DIR', help: `where data is kept (${DEV_DEFAULTS.data})` },
  listen: { value: 'HOST:PORT', help: `where the API listens (${DEV_DEFAULTS.listen})` },
  'proxy-listen': {
    value: 'HOST:PORT',
    help: `where sessions are carried (${DEV_DEFAULTS.proxy_listen})`,
  },
  'root-token': { value: 'TOKEN', help: `the first token (${DEV_DEFAULTS.root_token})` },
};

/** `gatehouse dev`: a server on the embedded store that is usable at once. */
export async function runDev(args: readonly string[]): Promise<number> {
  const { flags } = parseArguments(args, DEV_FLAGS);
  if (flags.has('help')) {
    console.log(helpText('dev [flags]', 'Runs a development server.', DEV_FLAGS));
    return 0;
  }
  const config = devConfig({
    data: flags.get('data') ?? DEV_DEFAULTS.data,
    listen: flags.get('listen') ?? DEV_DEFAULTS.listen,
    proxy_listen: flags.get('proxy-listen') ?? DEV_DEFAULTS.proxy_listen,
    root_token: flags.get('root-token') ?? DEV_DEFAULTS.root_token,
  });
  return serve(config, (address) => console.log(greeting(address, config)));
}

const SERVER_FLAGS: FlagTable = {
  config: { value: 'FILE', help: 'the configuration file, a JSON object' },
};

/** `gatehouse server -config FILE`: the production mode. */
export async function runServer(args: readonly string[]): Promise<number> {
  const { flags } = parseArguments(args, SERVER_FLAGS);
  if (flags.has('help')) {
    console.log(helpText('server -config FILE', 'Runs a production server.', SERVER_FLAGS));
    return 0;
  }
  const file = flags.get('config');
  if (file === undefined) throw new Failure('invalid', 'flag -config FILE is needed');
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new Failure('invalid', `the configuration file ${file} cannot be read`, { cause });
  }
  const config = parseConfig(text);
  // An audit sink has standard output to itself.
  const hasOutput = config.audit.sinks.some((sink) => sink.type === 'stdout');
  return serve(config, (address) =>
    (hasOutput ? console.error : console.log)(`gatehouse listens on ${address}`),
  );
}

/** Runs until SIGTERM or SIGINT, then drains. */
async function serve(config: Config, started: (address: string) => void): Promise<number> {
  const running = await startServer(config).catch((error: unknown) => {
    throw startFailure(error, config);
  });
  const { host, port } = running.address;
  started(`${config.tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`);
  process.on('SIGHUP', () => {
    running.reopenSinks();
    try {
      running.http.reloadTls();
    } catch (err) {
      running.app.log.error({ err }, 'the TLS certificate was not reloaded; the old one stays');
    }
  });
  const failed = new Promise<number>((resolve) => {
    running.app.store.onDeath((death) => {
      console.error(`gatehouse: ${death.message}`);
      resolve(1);
    });
  });
  const stopped = new Promise<number>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => resolve(0));
  });
  const code = await Promise.race([failed, stopped]);
  await running.stop();
  return code;
}

function startFailure(error: unknown, config: Config): unknown {
  const code = error instanceof Error ? Reflect.get(error, 'code') : undefined;
  const { host, port } = config.listen;
  switch (code) {
    case 'EADDRINUSE':
      return new Failure(
        'unavailable',
        `port ${port} of ${host} is in use by another program; choose another with -listen`,
      );
    case 'EACCES':
    case 'EROFS':
    case 'EPERM':
      return new Failure(
        'unavailable',
        `no permission: ${error instanceof Error ? error.message : ''}`,
      );
    default:
      return error;
  }
}

function greeting(address: string, config: Config): string {
  const token = config.dev_root_token ?? '';
  const post = `curl -sS -H 'X-Vault-Token: ${token}' ${address}/v1`;
  return `Gatehouse, development mode. Not for production: the token below is known to everybody
who reads it, the unseal key lies beside the data, and the connection is not encrypted.

  Address     ${address}
  Root token  ${token}

Try, in another terminal: a root, a role, a certificate

  ${post}/demo/root/generate/internal -d '{"common_name":"Example Root","key_type":"ec","ttl":"768h"}'
  ${post}/demo/roles/web -d '{"allowed_domains":"example.com","allow_subdomains":true,"key_type":"ec","max_ttl":"72h"}'
  ${post}/demo/issue/web -d '{"common_name":"www.example.com"}'
`;
}
