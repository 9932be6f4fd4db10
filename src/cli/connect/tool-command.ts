import type { Arguments, FlagTable } from '../arguments.ts';
import type { Command } from '../command.ts';
import { bracketed } from './endpoint.ts';
import { parseListenAddress } from './listen-address.ts';
import { makeSecretFolder, type SecretFolder } from './secret-folder.ts';
import { explainRefusal, type Served, say, serveSession } from './serving.ts';
import { openSession, SESSION_FLAGS } from './session.ts';
import { runTool, type Tool } from './tool.ts';

/** What a tool is told depends on this. */
export interface ToolRequest {
  flags: Arguments['flags'];
  /** For the tool alone, as they were typed. */
  passed: readonly string[];
  served: Pick<Served, 'address' | 'session'>;
  /** For what only files are good enough; made when it is asked for. */
  secrets(): SecretFolder;
}

interface ToolDeclaration {
  name: string;
  summary: string;
  about: string;
  flags: FlagTable;
  plan(request: ToolRequest): Tool;
}

const { format: _format, ...FLAGS } = SESSION_FLAGS;

/** A command that runs somebody else's program on a session. */
export function toolCommand({ name, summary, about, flags, plan }: ToolDeclaration): Command {
  return {
    usage: `connect ${name} [TARGET] [flags] [-- ARGUMENTS]`,
    summary,
    about: `${about}

What stands behind -- is for that program. The exit code is its own, and 128 and the signal's number where a
signal ended it; signals are passed on. The session ends with it.`,
    flags: {
      ...flags,
      ...FLAGS,
      listen: { value: 'HOST:PORT', help: 'where to listen (127.0.0.1 and a free port)' },
    },
    may_follow: ['TARGET'],
    passes_on: true,
    async run({ flags, rest, passed }) {
      const at = parseListenAddress(flags.get('listen') ?? '127.0.0.1:0');
      const session = await openSession(flags, rest[0], process.env);
      let folder: SecretFolder | undefined;
      const secrets = (): SecretFolder => {
        folder ??= makeSecretFolder(process.env);
        return folder;
      };
      const runHere = async ({ address: at, ...served }: Served): Promise<number> => {
        const address = { ...at, host: reachable(at.host) };
        try {
          const tool = plan({ flags, passed, served: { ...served, address }, secrets });
          return await runTool(withPlace(tool, address));
        } finally {
          // At once: who does not wait until the session is ended, too, leaves nothing behind.
          folder?.remove();
        }
      };
      return serveSession(session, at, async (served) => {
        const told = tellEnd(served);
        const code = await runHere(served);
        await served.finish();
        await told;
        return code;
      });
    },
  };
}

/** Where to reach what listens at every address of this machine. */
const reachable = (host: string): string =>
  host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;

/** The tool ends by itself when its connection does; why that was, only this program knows. */
async function tellEnd({ proxy, session }: Served): Promise<void> {
  const end = await proxy.ended;
  if (end.why === 'expired') say('the session has expired');
  if (end.why === 'refused') say(await explainRefusal(session, end.refusal));
}

/** Scripts that tools run find the proxy by these, under both names that there are for them. */
function withPlace(tool: Tool, { host, port }: { host: string; port: number }): Tool {
  const address = `${bracketed(host)}:${port}`;
  const env = Object.fromEntries(
    ['GATEHOUSE', 'BOUNDARY'].flatMap((product) => [
      [`${product}_PROXIED_IP`, host],
      [`${product}_PROXIED_PORT`, String(port)],
      [`${product}_PROXIED_ADDR`, address],
    ]),
  );
  return { ...tool, env: { ...env, ...tool.env } };
}
