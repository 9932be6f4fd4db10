// The least that an HTTP server can do: one answer for everything, of the size given.
//
//   node bench/bare.ts http|fastify [bytes]

import { createServer } from 'node:http';
import Fastify from 'fastify';

const [kind = 'http', size = '3000'] = process.argv.slice(2);
const body = 'x'.repeat(Number(size));

if (kind === 'fastify') {
  const server = Fastify();
  server.get('/', async (_request, reply) => reply.type('text/plain').send(body));
  console.log(await server.listen({ host: '127.0.0.1', port: 0 }));
} else {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain', 'content-length': body.length });
    response.end(body);
  });
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : '';
    console.log(`http://127.0.0.1:${port}`);
  });
}
