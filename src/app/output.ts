import type { z } from 'zod';
import type { Immutable } from '../core/immutable.ts';
import type { AuthAnswer, RawAnswer, VaultResult, WrapInfo } from './result.ts';

/**
 * What an endpoint of the Vault API answers with. A schema by itself is that of the envelope's `data`; the
 * other forms are made by the functions below.
 */
export type Output = OneForm | EitherOutput;

type OneForm = z.ZodType | OtherForm;

type OtherForm =
  | FlatOutput
  | BareOutput
  | BytesOutput
  | typeof authOutput
  | typeof leaseOutput
  | typeof wrapOutput
  | typeof storedOutput
  | typeof nothing
  | typeof accepted;

interface FlatOutput<S extends z.ZodType = z.ZodType> {
  form: 'flat';
  schema: S;
}

interface BareOutput<S extends z.ZodType = z.ZodType> {
  form: 'bare';
  schema: S;
}

interface BytesOutput {
  form: 'bytes';
  media_type: string;
}

interface EitherOutput<Choices extends readonly OneForm[] = readonly OneForm[]> {
  form: 'either';
  choices: Choices;
}

/** `data` whose keys are repeated beside the envelope's own, for readers of old. */
export const flat = <S extends z.ZodType>(schema: S): FlatOutput<S> => ({ form: 'flat', schema });

/** JSON without an envelope: `sys/health` and its like. */
export const bare = <S extends z.ZodType>(schema: S): BareOutput<S> => ({ form: 'bare', schema });

/** Bytes as they are, of one media type; no bytes are a 204. */
export const bytes = (media_type: string): BytesOutput => ({ form: 'bytes', media_type });

/** One of several forms, as it turns out: at most one of them bytes. */
export const either = <const Choices extends readonly OneForm[]>(
  ...choices: Choices
): EitherOutput<Choices> => ({ form: 'either', choices });

/** The token of a log-in, in the envelope's `auth`. */
export const authOutput = { form: 'auth' } as const;
/** A lease that was renewed, in the envelope's own fields. */
export const leaseOutput = { form: 'lease' } as const;
/** The envelope that stands for a wrapped answer. */
export const wrapOutput = { form: 'wrap' } as const;
/** An answer of another endpoint, as it was put away. */
export const storedOutput = { form: 'stored' } as const;
/** 204, or an envelope without data where there is a warning to be told. */
export const nothing = { form: 'nothing' } as const;
/** 202 without data: what was asked for is begun, and goes on by itself. */
export const accepted = { form: 'accepted' } as const;

/** What may be told beside any answer. */
type Notes = Pick<VaultResult, 'warnings' | 'last_modified' | 'wrapped_accessor'>;
type Dataless = { data?: undefined };

/** `data`, or what stands in its place where it is long: it is empty there. */
export type DataResult<Data> = Notes &
  Pick<VaultResult, 'lease' | 'long_text' | 'long_list'> &
  (
    | { data: Data }
    | ({ data: Readonly<Record<string, never>> } & (
        | Required<Pick<VaultResult, 'written_data'>>
        | Required<Pick<VaultResult, 'long_data'>>
      ))
  );

/** What `run` hands back, by what is declared of it. */
export type ResultOf<Out extends Output> =
  Out extends EitherOutput<infer Choices> ? OneResult<Choices[number]> : OneResult<Out>;

type OneResult<Out> = Out extends z.ZodType
  ? DataResult<Immutable<z.output<Out>>>
  : Out extends FlatOutput<infer S>
    ? DataResult<Immutable<z.output<S>>>
    : Out extends BareOutput<infer S>
      ? Dataless & { bare: Immutable<z.output<S>>; status?: number }
      : Out extends BytesOutput
        ? BytesResult
        : Out extends { form: infer Form }
          ? OtherResults[Form & keyof OtherResults]
          : never;

export type BytesResult = Notes &
  Dataless &
  Pick<VaultResult, 'freshness'> & { bytes: RawAnswer['body']; status?: number };
export type AuthResult = Notes & Dataless & { auth: AuthAnswer };
export type LeaseResult = Notes & Dataless & Required<Pick<VaultResult, 'lease'>>;
export type NothingResult = Notes & Dataless;
export type AcceptedResult = NothingResult & { status: 202 };

interface OtherResults {
  auth: AuthResult;
  lease: LeaseResult;
  wrap: Dataless & { wrap_info: WrapInfo };
  stored: Dataless & { raw: RawAnswer };
  nothing: NothingResult;
  accepted: AcceptedResult;
}

/** How an answer is encoded, as far as its declaration says. */
export interface Encoding {
  flat: boolean;
  /** Of `bytes`. */
  media_type: string | undefined;
  status: number | undefined;
}

export function encodingOf({ output, status }: { output: Output; status?: number }): Encoding {
  const choices = formsOf(output);
  const raw = choices.find((choice) => choice.form === 'bytes');
  const flat = choices.some((choice) => choice.form === 'flat');
  return { flat, media_type: raw?.media_type, status };
}

/** The forms that an answer may have, each with its name. */
export function formsOf(
  output: Output,
): readonly (OtherForm | { form: 'data'; schema: z.ZodType })[] {
  if (!('form' in output)) return [{ form: 'data', schema: output }];
  return output.form === 'either' ? output.choices.flatMap(formsOf) : [output];
}
