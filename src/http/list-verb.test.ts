import assert from 'node:assert/strict';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { acceptListVerb, rewriteListVerb, startMessage } from './list-verb.ts';

const cases: [packets: string[], after: string[], why: string][] = [
  [['LIST / HTTP/1.1\r\n\r\n'], ['LINK / HTTP/1.1\r\n\r\n'], 'a whole message'],
  [['LI', 'ST / HTTP/1.1\r\n\r\n'], ['LI', 'NK / HTTP/1.1\r\n\r\n'], 'a method split over packets'],
  [['L', 'I', 'S', 'T', ' /'], ['L', 'I', 'N', 'K', ' /'], 'one byte a packet'],
  [['GET /LIST / HTTP/1.1\r\n\r\n'], ['GET /LIST / HTTP/1.1\r\n\r\n'], 'LIST within a path stays'],
  [
    ['POST / HTTP/1.1\r\nContent-Length: 6\r\n\r\nLIST /'],
    ['POST / HTTP/1.1\r\nContent-Length: 6\r\n\r\nLIST /'],
    'a body that begins with LIST / stays',
  ],
  [
    ['POST / HTTP/1.1\r\nContent-Length: 6\r\n\r\n', 'LIST /'],
    ['POST / HTTP/1.1\r\nContent-Length: 6\r\n\r\n', 'LIST /'],
    'also when it comes in a packet of its own',
  ],
  [
    ['GET / HTTP/1.1\r\n\r\nLIST /a HTTP/1.1\r\n\r\nLIST /b HTTP/1.1\r\n\r\n'],
    ['GET / HTTP/1.1\r\n\r\nLINK /a HTTP/1.1\r\n\r\nLINK /b HTTP/1.1\r\n\r\n'],
    'pipelined messages each',
  ],
  [
    ['POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}LIST /a HTTP/1.1\r\n\r\n'],
    ['POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}LINK /a HTTP/1.1\r\n\r\n'],
    'a message right after a body',
  ],
  [
    ['POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n', '6\r\nLIST /\r\n0\r\n\r\n'],
    ['POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n', '6\r\nLIST /\r\n0\r\n\r\n'],
    'a chunked body stays',
  ],
];

for (const [packets, after, why] of cases) {
  test(`LIST becomes LINK only where a message begins: ${why}`, () => {
    const framing = startMessage();
    const seen = packets.map((packet) => {
      const chunk = Buffer.from(packet, 'latin1');
      rewriteListVerb(framing, chunk);
      return chunk.toString('latin1');
    });
    assert.deepEqual(seen, after);
  });
}

test('a real server reads LIST on a kept-alive connection', async () => {
  const server = http.createServer((request, response) => {
    request.resume().on('end', () => response.end(`${request.method} ${request.url};`));
  });
  acceptListVerb(server, false);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const socket = net.connect(port, '127.0.0.1');
  let received = '';
  const done = new Promise<void>((resolve) => {
    socket.on('data', (chunk) => {
      received += String(chunk);
      if (received.includes('/b;')) resolve();
      else if (received.includes('/a;')) socket.write('LIST /b HTTP/1.1\r\nHost: x\r\n\r\n');
    });
  });
  socket.write('LIST /a HTTP/1.1\r\nHost: x\r\n\r\n');
  await done;
  socket.destroy();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  assert.match(received, /LINK \/a;[\s\S]*LINK \/b;/);
});
