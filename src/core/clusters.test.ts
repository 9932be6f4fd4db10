import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isOfCluster, sinceWhen } from './clusters.ts';

const cases: [
  row: [clusters: string, joined: string],
  cluster: string,
  since: number | undefined,
  why: string,
][] = [
  [['east', ''], 'east', 5, 'the only one'],
  [['east', ''], 'west', undefined, 'another one'],
  [['east', ''], '', undefined, 'the one without a name has what is its own'],
  [['east,west', ',west=17'], 'east', 5, 'the first of two'],
  [['east,west', ',west=17'], 'west', 17, 'the one that came later'],
  [['east,west', ',west=17'], 'wes', undefined, 'a name is whole'],
  [['east,west,north', ',west=17,north=23'], 'west', 17, 'the second of three'],
  [['east,west,north', ',west=17,north=23'], 'north', 23, 'the last of three'],
  [['east,west', ''], 'west', 5, 'of before there was more than one revision'],
  [['', ''], 'west', 5, 'what the one without a name has is of each'],
  [['', ''], '', 5, 'and its own'],
  [['east,', ',=17'], '', 17, 'the one without a name came later'],
  [['east,', ',=17'], 'west', 17, 'and with it each that was not there'],
  [['east,', ',=17'], 'east', 5, 'but not the one that was'],
  [['east,west,', ',west=17,=23'], 'west', 17, 'nor one that came before it'],
  [['east,west,', ',west=17,=23'], 'north', 23, 'all others came with it'],
];

for (const [[clusters, joined], cluster, since, why] of cases) {
  test(`"${clusters}" (${joined}) is of "${cluster}" since ${since}: ${why}`, () => {
    assert.equal(sinceWhen({ clusters, joined, revision: 5 }, cluster), since);
    assert.equal(isOfCluster(clusters, cluster), since !== undefined);
  });
}
