/** Names with commas between them, each once; empty ones are none. */
export const splitPrincipals = (list: string): string[] => [
  ...new Set(
    list
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== ''),
  ),
];
