import { readFile } from 'node:fs/promises';
import { createTransport } from 'nodemailer';
import { CLIENT_TLS } from '../../core/tls.client.ts';
import { DeliveryFault, faultOfCode, type MailOrder } from './order.ts';

const LONGEST_FILE = 64 << 10;

/**
 * Hands a warning to the SMTP server of the configuration. What is late ends with its connection: a mail that counts as not taken
 * is taken only where the server had all of it, and its answer did not come.
 *
 * @returns for how many of the receivers that has refused it
 * @throws DeliveryFault unless it has taken it for one of them
 */
export async function sendMail(order: MailOrder): Promise<number> {
  const { server, to, id, subject, text, answer_ms, timeout_ms } = order;
  const password = server.password_file === '' ? '' : (await read(server.password_file)).trim();
  const ca = server.tls_ca_file === '' ? undefined : await read(server.tls_ca_file);
  const transport = createTransport({
    host: server.host,
    port: server.port,
    secure: server.tls === 'tls',
    requireTLS: server.tls === 'starttls',
    ignoreTLS: server.tls === 'none',
    tls: { ...CLIENT_TLS, ...(ca === undefined ? {} : { ca }) },
    ...(server.username === '' ? {} : { auth: { user: server.username, pass: password } }),
    connectionTimeout: answer_ms,
    greetingTimeout: answer_ms,
    socketTimeout: timeout_ms,
    // Ended at once: by default what the server says meanwhile is waited for.
    socketCloseTimeout: 0,
    // Nothing in a message is a place to read from.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const signal = AbortSignal.timeout(timeout_ms);
  try {
    const { rejected } = await transport.sendMail({
      from: server.from,
      to: [...to],
      subject,
      text,
      // The same each time: receivers that have it already can tell.
      messageId: `<${id}@${server.from.slice(server.from.indexOf('@') + 1)}>`,
      headers: { 'Auto-Submitted': 'auto-generated', 'X-Gatehouse-Message': id },
      // Closing the transport would end no connection that is in use.
      signal,
    });
    // Sent again, it would come again to those for whom it was taken.
    return rejected.length;
  } catch (error) {
    if (signal.aborted) throw new DeliveryFault('the mail server did not answer in time');
    throw faultOfMail(error);
  } finally {
    transport.close();
  }
}

/** By its codes alone: what the server says may repeat what it was sent. */
function faultOfMail(error: unknown): DeliveryFault {
  const { responseCode, code } = Object(error);
  return typeof responseCode === 'number'
    ? new DeliveryFault(`the mail server answered ${responseCode}`)
    : faultOfCode(code);
}

async function read(path: string): Promise<string> {
  try {
    const content = await readFile(path, 'utf8');
    if (content.length <= LONGEST_FILE) return content;
  } catch {
    // Told below.
  }
  throw new DeliveryFault('a file that smtp names cannot be read');
}
