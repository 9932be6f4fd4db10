import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseMember, formatEndpoint, type Member } from './endpoint.ts';

const a: Member = { host_id: 'hst_a', host_set_id: 'hsst_1' };
const b: Member = { host_id: 'hst_b', host_set_id: 'hsst_1' };
const again: Member = { ...a, host_set_id: 'hsst_2' };

const choices: [members: Member[], wanted: string, roll: number, chosen: string, why: string][] = [
  [[a, b], '', 0, 'hst_a', 'the lowest roll takes the first'],
  [[a, b], '', 0.49, 'hst_a', 'each has its share of the rolls'],
  [[a, b], '', 0.5, 'hst_b', 'each has its share of the rolls'],
  [[a, b], '', 0.999999, 'hst_b', 'the highest roll takes the last'],
  [[a, again, b], '', 0.5, 'hst_b', 'a host in two sets is no more likely'],
  [[a, b], 'hst_b', 0, 'hst_b', 'who is asked for is taken'],
  [[a, b], 'hst_c', 0, 'unavailable', 'who is not there cannot be taken'],
  [[], '', 0, 'none', 'nobody is there'],
  [[], 'hst_a', 0, 'none', 'nobody is there, whoever is asked for'],
];

for (const [members, wanted, roll, chosen, why] of choices) {
  test(`host "${wanted}" of ${members.length} at ${roll}: ${why}`, () => {
    const verdict = chooseMember(members, wanted, roll);
    assert.equal('chosen' in verdict ? verdict.chosen.host_id : verdict.refused, chosen);
  });
}

const urls: [type: string, address: string, url: string | RegExp, why: string][] = [
  ['tcp', '10.0.0.5', 'tcp://10.0.0.5:22', 'an IPv4 address'],
  ['ssh', 'db.example.com', 'ssh://db.example.com:22', 'a name; the scheme is the type'],
  ['rdp', '2001:db8::1', 'rdp://[2001:db8::1]:22', 'an IPv6 address stands in brackets'],
  ['tcp', 'fe80::1%eth0', 'tcp://[fe80::1%eth0]:22', 'also with a zone'],
  ['tcp', '10.0.0.5:80', /chosen endpoint host address: address contains a port/, 'a port'],
  ['tcp', '[2001:db8::1]:80', /address contains a port/, 'a port after brackets'],
  ['tcp', '[2001:db8::1]', /neither a name nor an IP address/, 'brackets of its own'],
  ['tcp', 'a/b', /neither a name/, 'a path'],
  ['tcp', '', /address is empty/, 'nothing'],
];

for (const [type, address, url, why] of urls) {
  test(`the endpoint of "${address}": ${why}`, () => {
    const verdict = formatEndpoint(type, address, 22);
    if (typeof url === 'string') assert.deepEqual(verdict, { valid: true, url });
    else assert.match(verdict.valid ? 'valid' : verdict.because, url);
  });
}
