import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { createContext, Script } from 'node:vm';
import { type AST, RegExpParser } from '@eslint-community/regexpp';
import { type AnyNode, parse } from 'acorn';
import { analyse } from 'scslre';
import { cpuOf } from './cpu-time.ts';
import { isWithin, measurePace, type Pace } from './machine.ts';

// Which regular expressions of a source file a text can make slow: found by their form, and by
// running them on texts that are made to be slow.

/** A regular expression as it stands in a file. */
export interface Found {
  /** `file:line`. */
  place: string;
  source: string;
  flags: string;
}

/** What one file has: expressions that can be looked at, and those that are put together. */
export interface FileExpressions {
  literals: Found[];
  /** Places where an expression is made of a text: nobody knows which. */
  made: string[];
}

/** @param text TypeScript, or what is left of it without its types */
export function listExpressions(file: string, text: string): FileExpressions {
  const script = stripTypeScriptTypes(text, { mode: 'strip' });
  const tree = parse(script, {
    ecmaVersion: 'latest',
    sourceType: 'module',
    locations: true,
    allowHashBang: true,
  });
  const found: FileExpressions = { literals: [], made: [] };
  for (const node of nodesOf(tree)) {
    const place = `${file}:${node.loc?.start.line}`;
    if (node.type === 'Literal' && node.regex) {
      found.literals.push({ place, source: node.regex.pattern, flags: node.regex.flags });
    } else if (makesExpression(node)) found.made.push(place);
  }
  return found;
}

export const readExpressions = (file: string): FileExpressions =>
  listExpressions(file, readFileSync(file, 'utf8'));

const isNode = (value: unknown): value is AnyNode =>
  typeof value === 'object' && value !== null && 'type' in value;

/** A program's parts, in no order. */
export function* nodesOf(root: AnyNode): Generator<AnyNode> {
  const left: AnyNode[] = [root];
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    yield node;
    for (const value of Object.values(node)) {
      if (Array.isArray(value)) left.push(...value.filter(isNode));
      else if (isNode(value)) left.push(value);
    }
  }
}

/** Methods of texts that make an expression of a text they are given. */
const MAKERS: readonly string[] = ['match', 'matchAll', 'search'];

function makesExpression(node: AnyNode): boolean {
  if (node.type !== 'NewExpression' && node.type !== 'CallExpression') return false;
  const { callee } = node;
  if (callee.type === 'Identifier') return callee.name === 'RegExp';
  if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return false;
  const [first] = node.arguments;
  const isText =
    first?.type === 'TemplateLiteral' ||
    (first?.type === 'Literal' && typeof first.value === 'string');
  return MAKERS.includes(callee.property.name) && isText;
}

/**
 * Says what makes an expression slow, or nothing for one that takes time in proportion to its
 * text.
 */
export function findSlowness({
  source,
  flags,
}: Pick<Found, 'source' | 'flags'>): string | undefined {
  if (!/[*+?{]/.test(source)) return undefined;
  const { reports } = analyse(new RegExp(source, flags));
  const [report] = reports;
  if (report) return `${report.exponential ? 'exponential' : 'polynomial'} by its form`;
  for (const text of attacksOn(source, flags)) {
    if (SIZES.some((size) => isSlow({ source, flags }, text, size)))
      return `slow with ${JSON.stringify(text)}`;
  }
  return undefined;
}

/** A text of which the middle is repeated. */
interface Attack {
  before: string;
  pump: string;
  after: string;
}

/** The first for what doubles with every letter, the last for what grows with the square. */
const SIZES = [16, 24, 512, 8_192, 65_536];
const SLOW_MS = 25;
/** Not worth measuring how slow the machine is. */
const SLOW_ANYWHERE_MS = 300;

/** What would take for ever is given up after so long. */
const MOST_MS = 500;

function isSlow({ source, flags }: Pick<Found, 'source' | 'flags'>, attack: Attack, size: number) {
  const { before, pump, after } = attack;
  const times = Math.max(1, Math.floor(size / pump.length));
  const text = before + pump.repeat(times) + after;
  const expression = new RegExp(source, flags);
  const run = () => (expression.global ? text.replaceAll(expression, '') : expression.exec(text));
  // Once more when it seems slow: the machine may have been.
  let pace: Pace | undefined;
  return [1, 2, 3].every(() => {
    const took = cpuOf(() => runForAWhile(run));
    if (took < SLOW_MS) return false;
    if (took >= SLOW_ANYWHERE_MS) return true;
    pace ??= measurePace();
    return !isWithin(took, SLOW_MS, pace);
  });
}

const call = new Script('run()');
const place = createContext({ run: (): unknown => undefined });

function runForAWhile(run: () => unknown): void {
  place.run = run;
  try {
    call.runInContext(place, { timeout: MOST_MS });
  } catch {
    // Given up.
  }
}

const ENDS = ['\u0000', '\n\u0000', ''];

/** Texts in which one part of the expression is met again and again, and the rest is not. */
function* attacksOn(source: string, flags: string): Generator<Attack> {
  const unicode = flags.includes('u') || flags.includes('v');
  const pattern = new RegExpParser().parsePattern(source, 0, source.length, {
    unicode: unicode && !flags.includes('v'),
    unicodeSets: flags.includes('v'),
  });
  const seen = new Set<string>();
  for (const { before, pump } of partsOf(pattern.alternatives, '', flags)) {
    if (pump === '' || seen.has(`${before} ${pump}`)) continue;
    seen.add(`${before} ${pump}`);
    for (const after of ENDS) yield { before, pump, after };
  }
}

type Part = Omit<Attack, 'after'>;

function* partsOf(
  alternatives: readonly AST.Alternative[],
  around: string,
  flags: string,
): Generator<Part> {
  for (const { elements } of alternatives) {
    const texts = mergeLetters(elements).map((run) =>
      run.map((one) => sampleOf(one, flags)).join(''),
    );
    for (let start = 0; start < texts.length; start++) {
      const before = around + texts.slice(0, start).join('');
      for (let end = start + 1; end <= texts.length; end++) {
        const pump = texts.slice(start, end).join('');
        yield { before, pump };
        yield { before: '', pump };
      }
    }
    let before = around;
    for (const element of elements) {
      yield* insideOf(element, before, flags);
      before += sampleOf(element, flags);
    }
  }
}

function* insideOf(element: AST.Element, before: string, flags: string): Generator<Part> {
  if (element.type === 'Quantifier') yield* insideOf(element.element, before, flags);
  else if ('alternatives' in element) {
    yield* partsOf(element.alternatives, before, flags);
  }
}

/** Letters that stand side by side count as one part. */
function mergeLetters(elements: readonly AST.Element[]): AST.Element[][] {
  const runs: AST.Element[][] = [];
  for (const element of elements) {
    const last = runs.at(-1);
    const joins = element.type === 'Character' && last?.at(-1)?.type === 'Character';
    if (last && joins) last.push(element);
    else runs.push([element]);
  }
  return runs;
}

const CANDIDATES = [
  'a',
  '0',
  ' ',
  'A',
  '-',
  '_',
  '/',
  '.',
  ':',
  '=',
  '"',
  "'",
  ',',
  '\n',
  '\u00e9',
  '\\',
  '%',
];

/** A text that an element takes, as far as that is easily found. */
function sampleOf(element: AST.Element, flags: string): string {
  switch (element.type) {
    case 'Character':
      return String.fromCodePoint(element.value);
    case 'CharacterSet':
    case 'CharacterClass': {
      const one = new RegExp(element.raw, flags.replaceAll(/[gy]/g, ''));
      return [...CANDIDATES, ...element.raw].find((letter) => one.test(letter)) ?? '';
    }
    case 'Group':
    case 'CapturingGroup': {
      const [first] = element.alternatives;
      return (first?.elements ?? []).map((inner) => sampleOf(inner, flags)).join('');
    }
    case 'Quantifier':
      return sampleOf(element.element, flags).repeat(Math.max(1, element.min));
    default:
      return '';
  }
}
