import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  BEGINNING_LENGTH,
  type Found,
  judgeFile,
  judgeFolder,
  judgePath,
  judgeStep,
  looksLikeRecords,
} from './audit-file.ts';

const paths: [path: string, because: RegExp | undefined][] = [
  ['/var/log/audit.log', undefined],
  ['/a', undefined],
  ['/var/log/..audit', undefined],
  ['/var/log/a b ü', undefined],
  [`/${'n'.repeat(255)}`, undefined],
  [`/${'n'.repeat(256)}`, /at most 255 bytes/],
  [`/${'ü'.repeat(128)}`, /at most 255 bytes/],
  [`/${'n/'.repeat(2046)}nn`, undefined],
  [`/${'n/'.repeat(2047)}n`, /at most 4095 bytes/],
  ['', /absolute/],
  ['audit.log', /absolute/],
  ['./audit.log', /absolute/],
  ['/var/log/../audit.log', /"\.\."/],
  ['/..', /"\.\."/],
  ['/var/./log', /"\."/],
  ['/var//log', /empty names/],
  ['//var/log', /empty names/],
  ['/var/log/', /empty names/],
  ['/', /empty names/],
  ['/var/log/a\nb', /control/],
  ['/var/log/a\0b', /control/],
];
for (const [path, because] of paths) {
  test(`the path ${JSON.stringify(path.slice(0, 40))} of ${path.length} characters`, () => {
    if (because) assert.match(judgePath(path) ?? '', because);
    else assert.equal(judgePath(path), undefined);
  });
}

const folders: [folder: string, because: RegExp | undefined][] = [
  ['/var/log', undefined],
  ['/', undefined],
  ['/proc', /system/],
  ['/proc/self', /system/],
  ['/sys/kernel', /system/],
  ['/dev/shm', /system/],
  ['/devices', undefined],
  ['/etc/cron.d', /system/],
  ['/etc', /system/],
  ['/etcetera', undefined],
  ['/run', /system/],
  ['/running', undefined],
  ['/boot', /system/],
  ['/usr/lib/systemd/system', /system/],
  ['/usr/local/var/log', undefined],
  ['/var/spool/cron/crontabs', /system/],
  ['/var/lib/gatehouse-audit', undefined],
  ['/srv/data', /data folder/],
  ['/srv/data/below', /data folder/],
  ['/srv/data2', undefined],
  ['/srv', undefined],
];
for (const [folder, because] of folders) {
  test(`a file in ${folder}, where /srv/data is the server's`, () => {
    if (because) assert.match(judgeFolder(folder, ['/srv/data']) ?? '', because);
    else assert.equal(judgeFolder(folder, ['/srv/data']), undefined);
  });
}

const OWN = 1000;
const folder: Found = { kind: 'folder', mode: 0o755, uid: OWN, links: 2 };
const steps: [why: string, found: Partial<Found>, because: RegExp | undefined][] = [
  ['the own folder', {}, undefined],
  ["root's", { uid: 0 }, undefined],
  ["somebody else's", { uid: 1001 }, /another user/],
  ['a link of somebody else', { kind: 'link', mode: 0o777, uid: 1001 }, /another user/],
  ["a link of root's, which has all bits", { kind: 'link', mode: 0o777, uid: 0 }, undefined],
  ['one for a group', { mode: 0o775, uid: 0 }, undefined],
  ['one for everybody', { mode: 0o777, uid: 0 }, /everybody/],
  ['one for everybody, where each keeps their own', { mode: 0o1777, uid: 0 }, undefined],
  ['a file', { kind: 'file' }, /no folder/],
];
for (const [why, found, because] of steps) {
  test(`on the way: ${why}`, () => {
    const told = judgeStep({ ...folder, ...found }, OWN);
    if (because) assert.match(told ?? '', because);
    else assert.equal(told, undefined);
  });
}

const file: Found = { kind: 'file', mode: 0o600, uid: OWN, links: 1 };
const files: [why: string, found: Partial<Found>, because: RegExp | undefined][] = [
  ['the own file', {}, undefined],
  ['one that a rotation of root made', { uid: 0, mode: 0o640 }, undefined],
  ['one that everybody may read', { mode: 0o644 }, undefined],
  ["somebody else's", { uid: 1001 }, /another user/],
  ['a symbolic link', { kind: 'link' }, /symbolic link/],
  ['a device, a pipe, a socket', { kind: 'other' }, /regular file/],
  ['a folder', { kind: 'folder' }, /regular file/],
  ['one with a second name', { links: 2 }, /more than one name/],
  ['one that was removed meanwhile', { links: 0 }, /more than one name/],
  ['one that a group may write', { mode: 0o660 }, /changed by others/],
  ['one that everybody may write', { mode: 0o602 }, /changed by others/],
  ['a program', { mode: 0o700 }, /program/],
  ['one with a bit for another user', { mode: 0o4600 }, /program/],
];
for (const [why, found, because] of files) {
  test(`to be added to: ${why}`, () => {
    const told = judgeFile({ ...file, ...found }, OWN);
    if (because) assert.match(told ?? '', because);
    else assert.equal(told, undefined);
  });
}

const beginnings: [text: string, isOne: boolean][] = [
  ['', true],
  ['{"node":"local","seq":1', true],
  ['{"no', true],
  ['{"no\n{"node":"a"', true],
  ['\n{"node":"a"', true],
  ['ssh-ed25519 AAAA', false],
  ['{"nodes":[]}', false],
  ['{"listener":{}}', false],
  [' {"node":"', false],
  ['x', false],
];
for (const [text, isOne] of beginnings) {
  test(`a file that begins with ${JSON.stringify(text)} ${isOne ? 'may be' : 'is not'} one of records`, () => {
    assert.equal(looksLikeRecords(text.slice(0, BEGINNING_LENGTH)), isOne);
  });
}
