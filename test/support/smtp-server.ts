import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';

/** A mail as it came. */
export interface Received {
  from: string;
  to: string[];
  /** Heads and text, with `\r\n`. */
  data: string;
  secured: boolean;
  user: string;
}

export interface SmtpReceiver {
  port: number;
  received: Received[];
  /** All that clients have said, a line each. */
  said: string[];
  /** What a command is answered with, in place of the usual. */
  answer: (line: string) => string | undefined;
}

/**
 * A mail server that speaks the few commands that there are (RFC 5321), with STARTTLS (RFC 3207) and AUTH PLAIN
 * (RFC 4954).
 */
export async function startSmtpServer(
  suite: { after(stop: () => Promise<void>): void },
  pair: { key: string; cert: string },
): Promise<SmtpReceiver> {
  const smtp: SmtpReceiver = { port: 0, received: [], said: [], answer: () => undefined };
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    socket.write('220 mail.test ESMTP\r\n');
    talk(smtp, socket, { pair, secured: false });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  smtp.port = (server.address() as AddressInfo).port;
  suite.after(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return smtp;
}

function talk(
  smtp: SmtpReceiver,
  socket: Socket,
  { pair, secured }: { pair: { key: string; cert: string }; secured: boolean },
): void {
  const newMail = (user: string): Received => ({ from: '', to: [], data: '', secured, user });
  let mail = newMail('');
  let text = '';
  let isData = false;
  const usual = (line: string): string => {
    const [command = '', ...rest] = line.split(' ');
    switch (command.toUpperCase()) {
      case 'EHLO':
        return `250-mail.test\r\n${secured ? '' : '250-STARTTLS\r\n'}250 AUTH PLAIN`;
      case 'AUTH':
        mail.user = Buffer.from(rest[1] ?? '', 'base64')
          .toString()
          .replaceAll('\0', ' ')
          .trim();
        return '235 welcome';
      case 'MAIL':
        mail.from = /<(.*?)>/.exec(line)?.[1] ?? '';
        return '250 ok';
      case 'RCPT':
        mail.to.push(/<(.*?)>/.exec(line)?.[1] ?? '');
        return '250 ok';
      case 'DATA':
        isData = true;
        return '354 go on';
      case 'STARTTLS':
        return '220 begin';
      default:
        return command === 'QUIT' ? '221 bye' : '250 ok';
    }
  };
  const onLine = (line: string): void => {
    if (isData && line !== '.') {
      mail.data += `${line.replace(/^\./, '')}\r\n`;
      return;
    }
    if (isData) {
      isData = false;
      const answer = smtp.answer('.');
      if (!answer) smtp.received.push(mail);
      mail = newMail(mail.user);
      socket.write(`${answer ?? '250 taken'}\r\n`);
      return;
    }
    smtp.said.push(line);
    const answer = smtp.answer(line);
    if (answer === 'never') return;
    socket.write(`${answer ?? usual(line)}\r\n`);
    if (line === 'STARTTLS' && answer === undefined) {
      socket.removeListener('data', onData);
      const over = new TLSSocket(socket, {
        isServer: true,
        secureContext: createSecureContext(pair),
      });
      over.on('error', () => {});
      talk(smtp, over, { pair, secured: true });
    }
  };
  const onData = (part: Buffer): void => {
    text += part.toString('utf8');
    for (let end = text.indexOf('\r\n'); end >= 0; end = text.indexOf('\r\n')) {
      const line = text.slice(0, end);
      text = text.slice(end + 2);
      onLine(line);
    }
  };
  socket.on('data', onData);
}
