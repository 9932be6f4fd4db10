import { z } from 'zod';
import type { Field, FieldKind, FieldWithDefault } from './field.ts';

interface Kind<Out> {
  /** What the field takes; the message when it is sent something else. */
  accepts: string;
  /** Never sees undefined or null. @returns `undefined` when the value is not of this kind */
  convert(value: unknown): Out | undefined;
  /** A reason of its own for refusing this value, more telling than `accepts`. */
  because?(value: unknown): string | undefined;
  output: z.ZodType<Out>;
}

function makeField<Out>(kind: Kind<Out>, byDefault: Out | undefined): Field<Out> {
  const conversion = new z.ZodTransform({
    type: 'transform',
    transform: (value, context): Out => {
      if (value === undefined || value === null) {
        if (byDefault !== undefined) return byDefault;
        return refuse(context, `a value is required, ${kind.accepts}`);
      }
      const converted = kind.convert(value);
      if (converted !== undefined) return converted;
      return refuse(context, kind.because?.(value) ?? kind.accepts);
    },
  }) as z.ZodTransform<Out, unknown>;
  return new z.ZodPipe({ type: 'pipe', in: conversion, out: kind.output }) as Field<Out>;
}

function refuse(context: z.core.ParsePayload, message: string): never {
  context.issues.push({ code: 'custom', message, input: context.value, continue: false });
  return z.NEVER;
}

/** Makes a kind of one's own, for a field that takes what none of the kinds below does. */
export function fieldKind<Out>(kind: Kind<Out>): FieldKind<Out> {
  function make(): Field<Out>;
  function make(byDefault: Out): FieldWithDefault<Out>;
  function make(byDefault?: Out): Field<Out> | FieldWithDefault<Out> {
    const field = makeField(kind, byDefault);
    return byDefault === undefined ? field : field.prefault(byDefault);
  }
  return make;
}
