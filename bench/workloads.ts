// A mount to work in, and the requests of each workload as they go on the wire.

import { generateKeyPairSync } from 'node:crypto';
import { encodePem, parsePem } from '../src/core/pem.ts';
import { signSync } from '../src/x509/algorithms.ts';
import { assembleSigned, type Certificate, parseCertificate } from '../src/x509/certificate.ts';
import { encodeCsrInfo } from '../src/x509/csr.ts';
import { publicKeyInfo } from '../src/x509/keys.ts';
import { encodeSubject } from '../src/x509/names.ts';
import { parseSerial } from '../src/x509/serial.ts';
import { encodeOcspRequest } from '../test/support/ocsp-request.ts';

/** The token that `gatehouse dev` has unless it is told otherwise, and that {@link initialise} makes. */
const TOKEN = 'root';
const NAME = 'www.example.com';

/** Initialises a server that has a key file as `gatehouse dev` begins, with an authority's mount. */
export async function initialise(port: number): Promise<void> {
  const made = await post(port, 'sys/init', {}, '');
  const token = String(Reflect.get(Object(made), 'root_token'));
  await post(port, 'auth/token/create', { id: TOKEN, policies: ['root'] }, token);
  await post(port, 'sys/mounts/demo', { type: 'pki' });
}

/** Makes a root and a role, and says who the root is. */
export async function prepareMount(port: number): Promise<Certificate> {
  const root = await post(port, 'demo/root/generate/internal', {
    common_name: 'Example Root',
    key_type: 'ec',
    ttl: '8760h',
  });
  await post(port, 'demo/config/urls', {
    issuing_certificates: ['http://ca.example.com/v1/demo/ca'],
    crl_distribution_points: ['http://ca.example.com/v1/demo/crl'],
    ocsp_servers: ['http://ca.example.com/v1/demo/ocsp'],
  });
  await post(port, 'demo/roles/web', {
    allowed_domains: 'example.com',
    allow_subdomains: true,
    key_type: 'ec',
    max_ttl: '72h',
  });
  return certificateIn(root);
}

function certificateIn(answer: unknown): Certificate {
  const pem = String(Reflect.get(Object(Reflect.get(Object(answer), 'data')), 'certificate'));
  const [block] = parsePem(pem);
  if (!block) throw new Error('the root has no certificate');
  return parseCertificate(block.der);
}

/** The mount of {@link preparePostQuantumMount}. */
const POST_QUANTUM = 'post-quantum';

/** Makes a mount whose root and leaves have keys of ML-DSA-65, and says who the root is. */
export async function preparePostQuantumMount(port: number): Promise<Certificate> {
  await post(port, `sys/mounts/${POST_QUANTUM}`, { type: 'pki' });
  const root = await post(port, `${POST_QUANTUM}/root/generate/internal`, {
    common_name: 'Post-quantum Root',
    key_type: 'mldsa',
    ttl: '700h',
  });
  await post(port, `${POST_QUANTUM}/roles/web`, {
    allowed_domains: 'example.com',
    allow_subdomains: true,
    key_type: 'mldsa',
    max_ttl: '72h',
  });
  return certificateIn(root);
}

export const issuePostQuantumRequest = (): string => issueRequest(POST_QUANTUM);

export const postQuantumOcspRequest = (root: Certificate, serial: string): string =>
  ocspPostRequest(root, serial, POST_QUANTUM);

/** Whether each revocation is followed by a new CRL at once, or CRLs are rebuilt in time. */
export async function followRevocations(port: number, at_once: boolean): Promise<void> {
  await post(port, 'demo/config/crl', { auto_rebuild: !at_once });
}

/** Whether a responder answers OCSP in the place of the issuer. */
export async function delegateOcsp(port: number, on: boolean): Promise<void> {
  await post(port, 'demo/config/crl', { ocsp_delegated_responder: on });
}

export async function post(
  port: number,
  path: string,
  body: unknown,
  token = TOKEN,
): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/${path}`, {
    method: 'POST',
    headers: { 'x-vault-token': token },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.status === 204 ? undefined : response.json();
}

/** Logs in as the administrator that a development server begins with. */
async function logIn(port: number): Promise<string> {
  const answer = await post(port, 'auth-methods/ampw_1234567890:authenticate', {
    command: 'login',
    attributes: { login_name: 'admin', password: 'password' },
  });
  return String(Reflect.get(Object(Reflect.get(Object(answer), 'attributes')), 'token'));
}

const PROJECT = 'p_1234567890';

/** Makes a target with an address and without credentials. */
async function makeTarget(port: number, name: string): Promise<string> {
  const target = await post(port, 'targets', {
    scope_id: PROJECT,
    type: 'tcp',
    name,
    address: '127.0.0.1',
    attributes: { default_port: 22 },
  });
  return String(Reflect.get(Object(target), 'id'));
}

export async function authorizeSessionRequest(port: number): Promise<string> {
  const id = await makeTarget(port, 'bench');
  return request('POST', `targets/${id}:authorize-session`, '{}', await logIn(port));
}

/** Reads of many targets, and of pages of 25 of them. */
export async function targetRequests(port: number): Promise<{ reads: string[]; lists: string[] }> {
  const ids: string[] = [];
  for (let at = 0; at < 200; at++) ids.push(await makeTarget(port, `bench-${at}`));
  const token = await logIn(port);
  return {
    reads: ids.map((id) => get(`targets/${id}`, token)),
    lists: [get(`targets?scope_id=${PROJECT}&page_size=25`, token)],
  };
}

/** A page of the certificates of the mount. */
export const listCertificatesRequest = (): string => get('demo/certs?list=true&limit=100', TOKEN);

export function issueRequest(mount = 'demo'): string {
  return request('POST', `${mount}/issue/web`, JSON.stringify({ common_name: NAME }));
}

/** One request for all: what is measured is the signing, not the asking. */
export function signRequest(): string {
  return request('POST', 'demo/sign/web', JSON.stringify({ csr: makeCsr(), common_name: NAME }));
}

export function signIntermediateRequest(): string {
  const body = JSON.stringify({ csr: makeCsr(), common_name: 'Example Intermediate', ttl: '72h' });
  return request('POST', 'demo/root/sign-intermediate', body);
}

export function verbatimRequest(): string {
  return request('POST', 'demo/sign-verbatim/web', JSON.stringify({ csr: makeCsr() }));
}

function makeCsr(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const info = encodeCsrInfo({
    subject: encodeSubject({ common_name: NAME }),
    subjectPublicKeyInfo: publicKeyInfo(privateKey),
    extensions: [],
  });
  const signature = signSync(privateKey, 'ECDSAWithSHA256', info);
  return encodePem('CERTIFICATE REQUEST', assembleSigned(info, 'ECDSAWithSHA256', signature));
}

export function readRequest(serial: string): string {
  return `GET /v1/demo/cert/${serial} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
}

export const readRoleRequest = (): string => get('demo/roles/web', TOKEN);

export function revokeRequest(serial: string): string {
  return request('POST', 'demo/revoke', JSON.stringify({ serial_number: serial }));
}

export function ocspGetRequest(root: Certificate, serial: string): string {
  const text = encodeURIComponent(ocspDer(root, serial).toString('base64'));
  return `GET /v1/demo/ocsp/${text} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
}

/** @param nonce of an answer that nobody else gets, and that is signed for it */
export function ocspPostRequest(
  root: Certificate,
  serial: string,
  mount = 'demo',
  nonce?: Uint8Array,
): string {
  const body = ocspDer(root, serial, nonce);
  const head = [
    `POST /v1/${mount}/ocsp HTTP/1.1`,
    'Host: localhost',
    'Content-Type: application/ocsp-request',
    `Content-Length: ${body.length}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body.toString('latin1')}`;
}

export const readCrlRequest = (): string => 'GET /v1/demo/crl HTTP/1.1\r\nHost: localhost\r\n\r\n';

function ocspDer(root: Certificate, serial: string, nonce?: Uint8Array): Buffer {
  const serialNumber = parseSerial(serial);
  if (!serialNumber) throw new Error(`no serial number: ${serial}`);
  const { subject, subjectPublicKeyInfo } = root;
  const der = encodeOcspRequest({
    issuer: subject,
    subjectPublicKeyInfo,
    serialNumber,
    hash: 'sha1',
    ...(nonce && { nonce }),
  });
  return Buffer.from(der);
}

function get(path: string, token: string): string {
  return `GET /v1/${path} HTTP/1.1\r\nHost: localhost\r\nX-Vault-Token: ${token}\r\n\r\n`;
}

function request(method: string, path: string, body: string, token = TOKEN): string {
  const head = [
    `${method} /v1/${path} HTTP/1.1`,
    'Host: localhost',
    `X-Vault-Token: ${token}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}
