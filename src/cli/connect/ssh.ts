import { chooseLogin, type Login } from './credentials.ts';
import type { Tool } from './tool.ts';
import { type ToolRequest, toolCommand } from './tool-command.ts';

export const sshCommand = toolCommand({
  name: 'ssh',
  summary: 'log in to a target with ssh',
  about: `Runs ssh on a session. A brokered credential of the target logs in: a user's name with a password, or with
a private key, which is in a file of its own until ssh ends. Keys of hosts are known under the target's id.`,
  flags: { username: { value: 'NAME', help: "who logs in (the brokered credential's)" } },
  plan: planSsh,
});

/** @see ssh_config(5) */
export function planSsh({ flags, passed, served, secrets }: ToolRequest): Tool {
  const { address, session } = served;
  const alias = session.authorization.target_id;
  const login = chooseLogin(session.credentials);
  const username = flags.get('username') ?? login.username;
  const options = [
    `HostKeyAlias=${alias}`,
    // Every target is at this address.
    'CheckHostIP=no',
    // What is configured for all hosts would lead elsewhere, or to another target's connection.
    'ProxyCommand=none',
    'ControlPath=none',
  ];
  const env: Record<string, string> = {};
  // Somebody else's secret is of no use to the user that was named.
  const isOwn = login.username === undefined || username === login.username;
  if (isOwn && login.private_key !== undefined) {
    const path = secrets().write('key', `${login.private_key.trimEnd()}\n`);
    options.push(`IdentityFile=${quoteOption(path)}`, 'IdentitiesOnly=yes');
    if (login.passphrase !== undefined) {
      answerPrompts(env, secrets(), login.passphrase, [`Enter passphrase for key '${path}': `]);
    }
  } else if (isOwn && username !== undefined && login.password !== undefined) {
    const hosts = [alias, alias.toLowerCase(), address.host];
    // A wrong one is not tried until the account is locked.
    options.push('NumberOfPasswordPrompts=1');
    answerPrompts(env, secrets(), login.password, passwordPrompts(username, hosts));
  }
  return {
    command: 'ssh',
    args: [
      '-p',
      String(address.port),
      ...options.flatMap((option) => ['-o', option]),
      ...(username === undefined ? [] : ['-l', username]),
      address.host,
      ...passed,
    ],
    env,
  };
}

/**
 * What ssh asks for the password of the target, and of nobody else. Which name it gives the host is
 * not the same in all versions, and they may be cut, or in small letters.
 */
function passwordPrompts(username: string, hosts: readonly string[]): string[] {
  const asked = hosts.flatMap((host) => [
    `${username.slice(0, 30)}@${host.slice(0, 128)}`,
    `${username}@${host}`,
  ]);
  return [...new Set(asked)].flatMap((who) => [
    `${who}'s password: `,
    `(${who}) Password: `,
    `(${who}) password: `,
  ]);
}

/**
 * Has ssh take a secret from a file: it takes none from arguments, and from the terminal or from a
 * program alone. Whatever else it asks is asked of whoever sits there.
 */
function answerPrompts(
  env: Record<string, string>,
  secrets: Pick<ReturnType<ToolRequest['secrets']>, 'write' | 'writeProgram'>,
  secret: NonNullable<Login['password']>,
  prompts: readonly string[],
): void {
  const path = secrets.write('secret', `${secret}\n`);
  env.SSH_ASKPASS = secrets.writeProgram('askpass', askpassScript(path, prompts));
  env.SSH_ASKPASS_REQUIRE = 'force';
}

function askpassScript(path: string, prompts: readonly string[]): string {
  return `#!/bin/sh
case $1 in
${prompts.map(quoteShell).join(' | ')}) exec cat ${quoteShell(path)} ;;
esac
[ "$SSH_ASKPASS_PROMPT" = none ] && exit 0
if ! (: <>/dev/tty) 2>/dev/null; then
  printf 'gatehouse: nobody is here to be asked: %s\\n' "$1" >&2
  exit 1
fi
exec 3<>/dev/tty
printf '%s' "$1" >&3
case $1 in
*yes/no*) read -r answer <&3 ;;
*)
  trap 'stty echo <&3; exit 1' INT TERM HUP
  stty -echo <&3
  read -r answer <&3
  stty echo <&3
  echo >&3
  ;;
esac
printf '%s\\n' "$answer"
`;
}

/** Text as one word of a shell. */
function quoteShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Of ssh's options, in which `%` begins a token. */
function quoteOption(path: string): string {
  return `"${path.replaceAll('%', '%%')}"`;
}
