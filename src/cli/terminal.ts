import { invalid } from '../core/failure.ts';

/** What is read without end is no share. */
const LONGEST = 4096;

/**
 * Reads one line that nobody should see: typed on the terminal without showing, or from a pipe.
 *
 * @throws Failure `invalid` when nothing comes, or more than one line
 */
export async function readSecret(prompt: string): Promise<string> {
  const secret = (await readLine(prompt)).trim();
  if (secret === '') throw invalid(`${prompt}: nothing was given`);
  if (/\s/.test(secret)) throw invalid(`${prompt}: give one line`);
  return secret;
}

/** The same, of a password: blanks are part of it. @throws Failure `invalid` */
export async function readPassword(prompt: string): Promise<string> {
  const password = (await readLine(prompt)).replace(/\r?\n$/, '');
  if (password === '') throw invalid(`${prompt}: nothing was given`);
  if (/[\r\n]/.test(password)) throw invalid(`${prompt}: give one line`);
  return password;
}

function readLine(prompt: string): Promise<string> {
  return process.stdin.isTTY ? readHidden(prompt) : readAll();
}

async function readAll(): Promise<string> {
  let text = '';
  process.stdin.setEncoding('utf8');
  for await (const chunk of process.stdin) {
    text += chunk;
    if (text.length > LONGEST) throw invalid('too much was given on standard input');
  }
  return text;
}

const CTRL_C = '\u0003';
const CTRL_D = '\u0004';

/** Keys come one by one and are not shown, not even as stars: their number is nobody's business. */
function readHidden(prompt: string): Promise<string> {
  const { stdin, stderr } = process;
  // First of all: what is typed before this would show.
  stdin.setRawMode(true);
  stderr.write(`${prompt}: `);
  stdin.setEncoding('utf8');
  return new Promise((resolve, reject) => {
    let typed = '';
    const done = (): void => {
      stdin.setRawMode(false);
      stdin.pause();
      stdin.off('data', take);
      stderr.write('\n');
    };
    const take = (keys: string): void => {
      for (const key of keys) {
        if (key === CTRL_C) {
          done();
          reject(invalid('interrupted'));
          return;
        }
        if (key === '\r' || key === '\n' || key === CTRL_D) {
          done();
          resolve(typed);
          return;
        }
        typed = key === '\u007f' || key === '\b' ? typed.slice(0, -1) : typed + key;
      }
    };
    stdin.on('data', take);
    stdin.resume();
  });
}
