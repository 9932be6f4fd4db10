// What sessions of a measurement lead to, a process of its own. The first byte says what it does: `d` sends so many
// bytes as follow in text up to a line feed, `u` answers one byte when so many have come, anything else comes back.

import { createServer, type Socket } from 'node:net';

const PIECE = Buffer.alloc(64 << 10, 7);

function serve(socket: Socket): void {
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.once('data', (first: Buffer) => {
    const end = first.indexOf(10);
    const bytes = Number(first.subarray(1, end).toString());
    if (first[0] === 100) send(socket, bytes);
    else if (first[0] === 117) take(socket, bytes, first.length - end - 1);
    else {
      socket.write(first);
      socket.pipe(socket);
    }
  });
}

function send(socket: Socket, bytes: number): void {
  let sent = 0;
  const go = (): void => {
    while (sent < bytes) {
      sent += PIECE.length;
      if (!socket.write(PIECE)) {
        socket.once('drain', go);
        return;
      }
    }
  };
  go();
}

function take(socket: Socket, bytes: number, first: number): void {
  let taken = first;
  socket.on('data', (piece) => {
    taken += piece.length;
    if (taken >= bytes) {
      socket.write('.');
      taken = Number.NEGATIVE_INFINITY;
    }
  });
}

const server = createServer(serve);
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object' && address) console.log(`tcp http://127.0.0.1:${address.port}`);
});
