import { seedIds } from '../broker/seed/fixtures.ts';
import { type Config, DEV_DEFAULTS, devConfig } from '../config/config.ts';
import { SEED_DEFAULTS, type SeedSettings } from '../config/seed.ts';
import { MOST_THREADS } from '../config/threads.ts';
import { Failure, invalid } from '../core/failure.ts';
import { type Running, startServer } from '../start/server.ts';
import type { Command } from './command.ts';
import { readConfig } from './place.ts';

/** A server on the embedded store that is usable at once. */
export const devCommand: Command = {
  usage: 'dev [flags]',
  summary: 'run a development server',
  flags: {
    data: { value: 'DIR', help: `where data is kept (${DEV_DEFAULTS.data})` },
    listen: { value: 'HOST:PORT', help: `where the API listens (${DEV_DEFAULTS.listen})` },
    'allowed-hosts': {
      value: 'NAME,…',
      help: 'names that requests may be for, besides localhost and the address itself (none)',
    },
    'proxy-listen': {
      value: 'HOST:PORT',
      help: `where sessions are carried (${DEV_DEFAULTS.proxy_listen})`,
    },
    'worker-listen': {
      value: 'HOST:PORT',
      help: 'where workers that stand alone come to (nowhere)',
    },
    'public-listen': {
      value: 'HOST:PORT',
      help: 'where CRLs, OCSP and CA certificates are served without TLS, and nothing else (nowhere)',
    },
    threads: { value: 'NUMBER', help: 'how many threads answer requests (one for each core)' },
    'root-token': { value: 'TOKEN', help: `the first token (${DEV_DEFAULTS.root_token})` },
    'id-suffix': {
      value: 'SUFFIX',
      help: `ends the ids of the seed data (${SEED_DEFAULTS.id_suffix})`,
    },
    'login-name': {
      value: 'NAME',
      help: `what the administrator logs in with (${SEED_DEFAULTS.login_name})`,
    },
    password: {
      value: 'PASSWORD',
      help: `the administrator's password (${SEED_DEFAULTS.password})`,
    },
    'unprivileged-login-name': {
      value: 'NAME',
      help: `what a plain user logs in with; empty: there is none (${SEED_DEFAULTS.unprivileged_login_name})`,
    },
    'unprivileged-password': {
      value: 'PASSWORD',
      help: `the plain user's password (${SEED_DEFAULTS.unprivileged_password})`,
    },
    'recovery-key': {
      value: 'BASE64',
      help: 'AES-256 key of the recovery workflow of API clients (none)',
    },
  },
  async run({ flags }) {
    const config = devConfig({
      data: flags.get('data') ?? DEV_DEFAULTS.data,
      listen: flags.get('listen') ?? DEV_DEFAULTS.listen,
      proxy_listen: flags.get('proxy-listen') ?? DEV_DEFAULTS.proxy_listen,
      public_listen: flags.get('public-listen'),
      worker_listen: flags.get('worker-listen'),
      threads: parseThreads(flags.get('threads')),
      root_token: flags.get('root-token') ?? DEV_DEFAULTS.root_token,
      allowed_hosts: flags.get('allowed-hosts'),
      seed: {
        id_suffix: flags.get('id-suffix') ?? SEED_DEFAULTS.id_suffix,
        login_name: flags.get('login-name') ?? SEED_DEFAULTS.login_name,
        password: flags.get('password') ?? SEED_DEFAULTS.password,
        unprivileged_login_name:
          flags.get('unprivileged-login-name') ?? SEED_DEFAULTS.unprivileged_login_name,
        unprivileged_password:
          flags.get('unprivileged-password') ?? SEED_DEFAULTS.unprivileged_password,
      },
      recovery_key: flags.get('recovery-key'),
    });
    return serve(config, (address, { notice, fewer_threads }, public_address) => {
      const served = public_address
        ? `\nFor relying parties, without TLS: ${public_address}\n`
        : '';
      console.log(
        greeting(address, config) +
          [notice, fewer_threads]
            .map((told) => (told === undefined ? '' : `\n${told}\n`))
            .join('') +
          served,
      );
    });
  },
};

/** @throws Failure `invalid` for what is no number of threads */
function parseThreads(given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  if (/^[1-9]\d*$/.test(given) && Number(given) <= MOST_THREADS) return Number(given);
  throw invalid(`flag -threads must be a whole number from 1 to ${MOST_THREADS}`);
}

export const serverCommand: Command = {
  usage: 'server -config FILE',
  summary: 'run a production server',
  about: `Runs a production server. SIGHUP reads the TLS certificate anew; SIGTERM lets the requests under
way finish and ends it.`,
  flags: { config: { value: 'FILE', help: 'the configuration file, a JSON object' } },
  async run({ flags }) {
    const file = flags.get('config');
    if (file === undefined) throw invalid('flag -config FILE is needed');
    const config = readConfig(file);
    // An audit sink has standard output to itself.
    const hasOutput = config.audit.sinks.some((sink) => sink.type === 'stdout');
    return serve(config, (address, { fewer_threads }, public_address) => {
      const besides = public_address ? `, and for relying parties on ${public_address}` : '';
      const alone = fewer_threads === undefined ? '' : `; ${fewer_threads}`;
      (hasOutput ? console.error : console.log)(
        `gatehouse listens on ${address}${besides}${alone}`,
      );
    });
  },
};

/** How often it is looked whether npx is still there, in milliseconds. */
const POLL_MS = 250;

/**
 * Resolves when this was started by npx and that is gone: what ends npx reaches the shell in which it runs a command,
 * and not the command. Of a server that was started in another way nobody has to stay.
 */
function goneNpx(): Promise<void> {
  const { ppid } = process;
  return new Promise((resolve) => {
    if (process.env.npm_command !== 'exec') return;
    const poll = setInterval(() => process.ppid !== ppid && resolve(), POLL_MS);
    poll.unref();
  });
}

/** Runs until SIGTERM or SIGINT, then drains. */
async function serve(
  config: Config,
  started: (
    address: string,
    told: Pick<Running, 'notice' | 'fewer_threads'>,
    public_address: string | undefined,
  ) => void,
): Promise<number> {
  const stopped = Promise.withResolvers<number>();
  const stop = (): void => stopped.resolve(0);
  void goneNpx().then(stop);
  const { promise, resolve: begin } = Promise.withResolvers<Running>();
  // Whoever is answered may end it, also before its last thread listens; until the first does a signal ends it at once,
  // however long it takes to begin.
  const heed = (): void => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, stop);
    process.on('SIGHUP', () => void promise.then(readAnew));
  };
  const running = await startServer(config, {}, heed).catch((error: unknown) => {
    throw startFailure(error, config);
  });
  begin(running);
  const { address, public_address } = running;
  const open = public_address && urlOf('http', public_address);
  started(urlOf(config.tls ? 'https' : 'http', address), running, open);
  const failed = new Promise<number>((resolve) => {
    const end = (death: Failure): void => {
      console.error(`gatehouse: ${death.message}`);
      resolve(1);
    };
    running.app.store.onDeath(end);
    running.onDeath(end);
  });
  const code = await Promise.race([failed, stopped.promise]);
  await running.stop();
  return code;
}

function readAnew({ reopenSinks, reloadTls, app }: Running): void {
  reopenSinks();
  try {
    reloadTls();
  } catch (err) {
    app.log.error({ err }, 'the TLS certificate was not reloaded; the old one stays');
  }
}

const urlOf = (scheme: string, { host, port }: Config['listen']): string =>
  `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;

/** Says in one line what kept the server from starting, where that is not the program's fault. */
function startFailure(error: unknown, config: Config): unknown {
  if (!(error instanceof Error) || error instanceof Failure) return error;
  const code = String(Reflect.get(error, 'code') ?? '');
  const { host, port, setting } = placeOf(error, config);
  if (code === 'EADDRINUSE') {
    return new Failure(
      'unavailable',
      `port ${port} of ${host} is in use by another program; choose another with ${setting}`,
    );
  }
  if (code === 'EADDRNOTAVAIL') {
    return new Failure('unavailable', `${host} is no address of this machine`);
  }
  if (/^ERR_OSSL/.test(code) && config.tls) {
    const { cert_file, key_file } = config.tls;
    return new Failure(
      'unavailable',
      `"${cert_file}" and "${key_file}" are no TLS certificate and its key, in PEM`,
    );
  }
  // Of the file system: the error's own text names the file.
  if (/^E[A-Z]+$/.test(code) && Reflect.get(error, 'syscall') !== undefined) {
    const path = Reflect.get(error, 'path');
    const setting =
      path === config.tls?.cert_file
        ? 'listener.tls_cert_file: '
        : path === config.tls?.key_file
          ? 'listener.tls_key_file: '
          : '';
    return new Failure('unavailable', `the server cannot start: ${setting}${error.message}`, {
      cause: error,
    });
  }
  return error;
}

/** Which of the listeners could not listen, and what sets where it does. */
function placeOf(error: Error, config: Config): Config['listen'] & { setting: string } {
  const isDev = config.mode === 'dev';
  const open = config.public_listener?.listen;
  if (open && Reflect.get(error, 'port') === open.port && open.port !== config.listen.port) {
    return { ...open, setting: isDev ? '-public-listen' : 'public_listener.address' };
  }
  const workers = config.worker_listen;
  if (workers && Reflect.get(error, 'port') === workers.port) {
    return { ...workers, setting: isDev ? '-worker-listen' : 'worker_listener.address' };
  }
  const proxy = config.proxy_listen;
  if (Reflect.get(error, 'port') === proxy.port && proxy.port !== config.listen.port) {
    return { ...proxy, setting: isDev ? '-proxy-listen' : 'proxy_listener.address' };
  }
  return { ...config.listen, setting: isDev ? '-listen' : 'listener.address' };
}

function greeting(address: string, config: Config): string {
  const token = config.dev_root_token ?? '';
  const post = `curl -sS -H 'X-Vault-Token: ${token}' ${address}/v1`;
  return `Gatehouse, development mode. Not for production: the token and the passwords below are known to
everybody who reads them, the unseal key lies beside the data, and the connection is not encrypted.

  Address     ${address}
  Root token  ${token}
${config.seed ? people(config.seed) : ''}
Try, in another terminal: a root, a role, a certificate

  ${post}/demo/root/generate/internal -d '{"common_name":"Example Root","key_type":"ec","ttl":"768h"}'
  ${post}/demo/roles/web -d '{"allowed_domains":"example.com","allow_subdomains":true,"key_type":"ec","max_ttl":"72h"}'
  ${post}/demo/issue/web -d '{"common_name":"www.example.com"}'
${config.seed ? firstSession(address, config.seed) : ''}`;
}

function people(seed: SeedSettings): string {
  const plain = seed.unprivileged_login_name;
  return `  Log in      ${seed.login_name} / ${seed.password}${plain === '' ? '' : `, or ${plain} / ${seed.unprivileged_password}`}
`;
}

function firstSession(address: string, seed: SeedSettings): string {
  const ids = seedIds(seed.id_suffix);
  const logIn = { attributes: { login_name: seed.login_name, password: seed.password } };
  const asUser = `curl -sS -H "Authorization: Bearer $TOKEN" ${address}/v1`;
  return `
and: log in, list targets, authorize a session on one

  TOKEN=$(curl -sS ${address}/v1/auth-methods/${ids.auth_method}:authenticate \\
    -d ${quote(JSON.stringify(logIn))} | sed 's/.*"token":"\\([^"]*\\)".*/\\1/')
  ${asUser}/targets'?scope_id='${ids.project}
  ${asUser}/targets/${ids.target}:authorize-session -d '{}'
`;
}

/** Text as one word of a shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
