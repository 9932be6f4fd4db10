// The least that an HTTP server can do: one answer for everything, of the size given.
//
//   node bench/bare.ts [bytes]

import { createServer } from 'node:http';

const [size = '3000'] = process.argv.slice(2);
const body = 'x'.repeat(Number(size));

const server = createServer((_request, response) => {
  response.writeHead(200, { 'content-type': 'text/plain', 'content-length': body.length });
  response.end(body);
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : '';
  console.log(`http://127.0.0.1:${port}`);
});
