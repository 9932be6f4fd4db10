import { type CelInput, isCelError } from '@bufbuild/cel';
import { toJson } from '@bufbuild/protobuf';
import { isReflectMessage, type ReflectMessage } from '@bufbuild/protobuf/reflect';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { invalid } from '../../core/failure.ts';
import type { IdentityFacts } from '../../core/identity-template.ts';
import type { Csr } from '../../x509/csr.ts';
import { readCsr } from '../profile/csr-rules.ts';
import { Budget } from './budget.ts';
import { type Compiled, compileProgram, shortReason } from './compile.ts';
import { describeCsr, fieldsBrought } from './csr.ts';
import { toCel } from './json.ts';
import { OUTPUT } from './messages.ts';
import type { CelProgram } from './program.ts';

/** What a program is asked; everything in it can be handed to another thread. */
export interface CelQuestion {
  program: CelProgram;
  /** As it was sent. */
  request: Readonly<Record<string, unknown>>;
  /** Unix milliseconds. */
  now: number;
  use_csr: boolean;
  identity: IdentityFacts['entity'] | undefined;
  groups: readonly { id: string; name: string }[];
}

/** What a program came to: a ValidationOutput in protobuf's form of JSON, or why not. */
export type CelVerdict = CelAllowed | { allowed: false; because: string };

interface CelAllowed {
  allowed: true;
  output: unknown;
  /** Of a CSR: the fields that its content could be sent by; each may say one otherwise. */
  brought: readonly Readonly<Record<string, string | string[]>>[];
}

/** @throws Failure `invalid` where it cannot be evaluated, naming the expression */
export function evaluateProgram(question: CelQuestion): CelVerdict {
  const budget = new Budget();
  const compiled = compileProgram(question.program, budget);
  const csr = question.use_csr ? readGivenCsr(question.request) : undefined;
  const found = giveVariables(question, csr, budget);
  const result = withoutStacks(() => evaluateAll(compiled, found));
  const verdict = readResult(result, budget);
  return verdict.allowed && csr ? { ...verdict, brought: fieldsBrought(csr) } : verdict;
}

/** What the last of them comes to; each before it is known to those behind it. */
function evaluateAll(compiled: readonly Compiled[], found: Record<string, CelInput>): unknown {
  let result: unknown;
  for (const { name, place, evaluate } of compiled) {
    result = requireValue(place, () => evaluate(found));
    if (name !== undefined) found[name] = result as CelInput;
  }
  return result;
}

/** An error within a macro may come with each round, and where it was made takes far longer than the round. */
function withoutStacks<Result>(work: () => Result): Result {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return work();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

const readGivenCsr = ({ csr }: CelQuestion['request']): Csr =>
  readCsr(typeof csr === 'string' ? csr : '').csr;

function giveVariables(
  question: CelQuestion,
  csr: Csr | undefined,
  budget: Budget,
): Record<string, CelInput> {
  const { identity, request, use_csr } = question;
  try {
    return {
      // A name that nothing has is no name of what every object has.
      __proto__: null,
      request: giveFields(request, budget),
      now: timestampFromMs(question.now),
      use_csr,
      parsed_csr: toCel(csr ? describeCsr(csr) : {}, budget),
      entity_id: identity?.id ?? '',
      entity_groups: toCel(question.groups, budget),
      entity_info: toCel(
        identity ? { id: identity.id, name: identity.name, metadata: identity.metadata } : {},
        budget,
      ),
    };
  } catch (error) {
    if (error instanceof Error && error.constructor !== Error) throw error;
    throw invalid(`the request cannot be given to a program: ${shortReason(error)}`);
  }
}

/** @throws Error naming the field that cannot be given */
function giveFields(request: CelQuestion['request'], budget: Budget): CelInput {
  const give = ([name, value]: [string, unknown]): [string, CelInput] => {
    try {
      return [name, toCel(value, budget)];
    } catch (error) {
      throw new Error(`${name}: ${shortReason(error)}`);
    }
  };
  return new Map(Object.entries(request).map(give));
}

function requireValue(place: string, evaluate: () => ReturnType<Compiled['evaluate']>): unknown {
  let result: unknown;
  try {
    result = evaluate();
  } catch (error) {
    result = error;
  }
  if (!isCelError(result) && !(result instanceof Error)) return result;
  const because = isCelError(result) ? result.message : shortReason(result);
  throw invalid(`cel_program: ${place}: ${shortReason(new Error(withoutNamespace(because)))}`);
}

const withoutNamespace = (text: string): string => text.replaceAll('openbao.pki.', '');

function readResult(result: unknown, budget: Budget): CelVerdict {
  if (typeof result === 'string') return { allowed: false, because: result.slice(0, 1024) };
  if (typeof result === 'boolean') return { allowed: false, because: 'request denied' };
  if (!isReflectMessage(result) || result.desc.typeName !== OUTPUT) {
    throw invalid(
      'cel_program: expression: it comes to something else than a ValidationOutput, a text or a truth value',
    );
  }
  try {
    weighMessage(result, budget);
    return { allowed: true, output: toJson(result.desc, result.message), brought: [] };
  } catch (error) {
    // A time that no timestamp has, or more than there may be.
    throw invalid(`cel_program: expression: ${withoutNamespace(shortReason(error))}`);
  }
}

/** One text may stand in a message ten thousand times. */
function weighMessage(message: ReflectMessage, budget: Budget): void {
  for (const field of message.desc.fields) {
    if (!message.isSet(field)) continue;
    const value: unknown = message.get(field);
    if (isReflectMessage(value)) weighMessage(value, budget);
    else if (field.fieldKind === 'list') {
      const list = [...message.get(field)];
      budget.list(list.length);
      for (const one of list) weighValue(one, budget);
    } else weighValue(value, budget);
  }
}

function weighValue(value: unknown, budget: Budget): void {
  if (isReflectMessage(value)) weighMessage(value, budget);
  budget.spend(typeof value === 'string' || value instanceof Uint8Array ? value.length + 1 : 1);
}
