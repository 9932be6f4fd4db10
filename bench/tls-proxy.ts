// The least that a TLS proxy does in Node: what a worker is measured against. Key and certificate come as PEM in the
// environment, the endpoint's port as an argument.

import { connect } from 'node:net';
import { createServer } from 'node:tls';

const port = Number(process.argv[2]);
const { PROXY_KEY: key = '', PROXY_CERT: cert = '' } = process.env;

const server = createServer({ key, cert, minVersion: 'TLSv1.3', noDelay: true }, (secure) => {
  const endpoint = connect({ host: '127.0.0.1', port, noDelay: true });
  endpoint.on('error', () => secure.destroy());
  secure.on('error', () => endpoint.destroy());
  secure.pipe(endpoint);
  endpoint.pipe(secure);
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object' && address) console.log(`tls http://127.0.0.1:${address.port}`);
});
