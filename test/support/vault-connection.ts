import type { VaultConnection } from '../../src/broker/vault/client/answer.ts';

/** A store's connection to a Vault server that speaks HTTP, with a token of fake ones. */
export const connectionTo = (address: string): VaultConnection => ({
  address,
  namespace: '',
  ca_cert: '',
  tls_server_name: '',
  tls_skip_verify: false,
  client_certificate: '',
  client_certificate_key: '',
  token: 'good',
});
