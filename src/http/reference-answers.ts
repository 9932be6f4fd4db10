import type { ApiStyle, DocumentedRoute } from './documented-api.ts';
import { outputSchemaOf } from './json-schemas.ts';
import { answerRows } from './reference-cells.ts';

/** Writes what the endpoints of one page answer with; what one before has is told there. */
export function answerWriter(style: ApiStyle): (route: DocumentedRoute) => string[] {
  const told = new Map<string, DocumentedRoute>();
  return (route) => {
    const answers = style.answersOf(route, () => ({}));
    if (answers.length === 0) return [];
    const forms = answers.map(({ status, says }) => (status === 200 ? says : `${status}, ${says}`));
    const rows = [
      ...new Set(
        answers.flatMap(({ payload }) => (payload ? answerRows(outputSchemaOf(payload)) : [])),
      ),
    ];
    const text = rows.join('\n');
    const further = route.statuses?.length ? `, also with ${route.statuses.join(', ')}` : '';
    const before = told.get(text);
    const as = before ? `, the same as of [${before.summary}](#${before.id})` : '';
    if (!before && rows.length > 0) told.set(text, route);
    return [
      '',
      `Answer: ${[...new Set(forms)].join('; or ')}${as}${further}.`,
      ...(before || rows.length === 0
        ? []
        : ['', '| answer | type | | |', '| --- | --- | --- | --- |', ...rows]),
    ];
  };
}
