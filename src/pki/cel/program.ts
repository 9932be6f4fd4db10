import { z } from 'zod';
import { type Failure, invalid } from '../../core/failure.ts';
import { fieldKind } from '../../core/field-kind.ts';
import { parseJsonText } from '../../core/json-text.ts';
import { MESSAGE_NAMES } from './messages.ts';

/** Of one expression, in characters. */
export const MAX_EXPRESSION = 8192;
export const MAX_VARIABLES = 64;
/** Of all expressions of a program together. */
const MAX_PROGRAM = 65_536;

/** A name that later expressions may use for what this one comes to. */
const variableSchema = z.strictObject({
  name: z.string().max(64).describe('What later expressions call it.'),
  expression: z.string().max(MAX_EXPRESSION).describe('In CEL.'),
});

/** What decides on a request, and says what the certificate has. */
export const programSchema = z.strictObject({
  variables: z
    .array(variableSchema)
    .max(MAX_VARIABLES)
    .describe('Expressions that later ones use by their names, in this order; at most 64.'),
  expression: z
    .string()
    .max(MAX_EXPRESSION)
    .describe('In CEL: a ValidationOutput allows the request, a text or a truth value refuses it.'),
});
export type CelProgram = z.output<typeof programSchema>;

const newSchema = programSchema.partial({ variables: true });
const patchSchema = programSchema.partial();
export type ProgramPatch = z.output<typeof patchSchema>;

/** Of a program as JSON text, for clients that send texts. */
const TEXT = { maxDepth: 4, maxValues: 1_000, maxMembers: 1_000 };

/** Characters of why a program is none. */
const MOST_SAID = 120;

function programKind<Out>(schema: z.ZodType<Out>) {
  const read = (value: unknown) => {
    try {
      const program = typeof value === 'string' ? parseJsonText(value, TEXT) : value;
      return schema.safeParse(program);
    } catch {
      return schema.safeParse(value);
    }
  };
  return fieldKind<Out>({
    accepts: 'an object with "expression" and, if need be, "variables"',
    convert: (value) => read(value).data,
    because: (value) => {
      const [issue] = read(value).error?.issues ?? [];
      if (!issue) return undefined;
      // An unknown name is repeated as it was sent, whatever it is.
      const { message } = issue;
      const short = message.length > MOST_SAID ? `${message.slice(0, MOST_SAID)}…` : message;
      return `${issue.path.map(String).join('.') || 'cel_program'}: ${short}`;
    },
    output: schema,
  });
}

/** The program of a role that is written whole. */
export const programField = programKind<z.output<typeof newSchema>>(newSchema);
/** What of it is to be another one; variables by their names. */
export const programPatch = programKind<ProgramPatch>(patchSchema);

/** Variables of a known name are replaced where they are, others come at the end. */
export function patchProgram(existing: CelProgram, patch: ProgramPatch): CelProgram {
  const variables = [...existing.variables];
  for (const one of patch.variables ?? []) {
    const at = variables.findIndex(({ name }) => name === one.name);
    if (at < 0) variables.push(one);
    else variables[at] = one;
  }
  return { variables, expression: patch.expression ?? existing.expression };
}

/** What expressions find besides the variables of their program. */
export const GIVEN = [
  'request',
  'now',
  'use_csr',
  'parsed_csr',
  'entity_id',
  'entity_groups',
  'entity_info',
] as const;

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Words of the language, and names that mean a message's type wherever they stand: no variable of theirs could be read. */
const RESERVED = new Set([
  ...'as break const continue else false for function if import in let loop namespace null package return true var void while'.split(
    ' ',
  ),
  ...MESSAGE_NAMES,
  '__proto__',
]);

/**
 * Checks a program but for the expressions themselves.
 *
 * @throws Failure `invalid` naming what is wrong
 */
export function checkProgram({ variables, expression }: CelProgram): void {
  const known = new Set<string>(GIVEN);
  if (variables.length > MAX_VARIABLES) {
    throw refuseProgram(`it has ${variables.length} variables, at most ${MAX_VARIABLES}`);
  }
  let length = expression.length;
  for (const [index, variable] of variables.entries()) {
    const { name } = variable;
    const place = `variables[${index}]`;
    if (!NAME.test(name) || RESERVED.has(name)) {
      throw refuseProgram(`${place}: ${JSON.stringify(name)} is no name of a variable`);
    }
    if (known.has(name)) throw refuseProgram(`${place}: there is a ${name} already`);
    known.add(name);
    length += variable.expression.length;
  }
  if (expression.trim() === '') throw refuseProgram('expression cannot be empty');
  if (length > MAX_PROGRAM) {
    throw refuseProgram(`its expressions have ${length} characters, at most ${MAX_PROGRAM}`);
  }
}

export function refuseProgram(because: string): Failure {
  return invalid(`cel_program: ${because}`, { fields: { cel_program: because } });
}
