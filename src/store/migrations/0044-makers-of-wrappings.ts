import type { Migration } from '../migration.ts';

/**
 * What lies wrapped is counted by who had it wrapped. Of what was wrapped before nobody knows that, and its
 * rows, which may be large, are not read for their length.
 */
export const makersOfWrappings: Migration = {
  number: 44,
  name: 'makers of wrappings',
  up: ({ text, integer }) => [
    `alter table wrapped_answer add column maker ${text} not null default ''`,
    `alter table wrapped_answer add column bytes ${integer} not null default 0`,
    `create index wrapped_answer_maker on wrapped_answer (maker, bytes) where maker <> ''`,
  ],
};
