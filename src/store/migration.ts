import type { ColumnTypes } from './columns.ts';

/** One step of the schema. Never edited once released; the next step corrects it. */
export interface Migration {
  number: number;
  name: string;
  /** The statements, in order, in the words of one engine. */
  up(types: ColumnTypes): string[];
}
