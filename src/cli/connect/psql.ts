import { chooseCertificate, chooseLogin } from './credentials.ts';
import { endpointHost } from './endpoint.ts';
import type { Tool } from './tool.ts';
import { type ToolRequest, toolCommand } from './tool-command.ts';

export const psqlCommand = toolCommand({
  name: 'psql',
  summary: 'work on a PostgreSQL target with psql',
  about: `Runs psql on a session. A brokered user's name and password log in, by a password file of its own; a brokered
certificate is shown in TLS. The server is named as the target names it, so that its certificate can be verified.`,
  flags: {
    username: { value: 'NAME', help: "who logs in (the brokered credential's)" },
    dbname: { value: 'NAME', help: "the database (the user's)" },
  },
  plan: planPsql,
});

/** @see the environment variables of libpq */
export function planPsql({ flags, passed, served, secrets }: ToolRequest): Tool {
  const { address, session } = served;
  const login = chooseLogin(session.credentials);
  const username = flags.get('username') ?? login.username;
  const dbname = flags.get('dbname');
  const host = endpointHost(session.authorization.endpoint);
  const env: Record<string, string | undefined> = {
    PGHOST: host,
    // Where that is to be reached.
    PGHOSTADDR: address.host,
    PGPORT: String(address.port),
    // A service would go before all of these.
    PGSERVICE: undefined,
    ...(username === undefined ? {} : { PGUSER: username }),
    ...(dbname === undefined ? {} : { PGDATABASE: dbname }),
  };
  const { password } = login;
  // Somebody else's password is of no use to the user that was named.
  const isOwn = login.username === undefined || username === login.username;
  if (password !== undefined && isOwn) {
    // What is set would go before the file. A line of that cannot hold the end of a line.
    env.PGPASSWORD = /[\r\n]/.test(password) ? password : undefined;
    if (env.PGPASSWORD === undefined) {
      const line = passwordLine([host, String(address.port), '*', username ?? '*', password]);
      env.PGPASSFILE = secrets().write('pgpass', `${line}\n`);
    }
  }
  const certificate = chooseCertificate(session.credentials);
  if (certificate) {
    env.PGSSLCERT = secrets().write('certificate', certificate.certificate);
    env.PGSSLKEY = secrets().write('key', certificate.private_key);
  }
  return { command: 'psql', args: passed, env };
}

/** `*` alone stands for everything; what would end a field is escaped. */
function passwordLine(fields: readonly string[]): string {
  return fields.map((field) => field.replace(/[\\:]/g, '\\$&')).join(':');
}
