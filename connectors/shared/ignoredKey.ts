/** A key that others have and that has no meaning here: taken, so that their configurations work, and documented as what it is. */
export const ignoredKey = (documentation: string) =>
  ({
    type: 'STRING',
    default: null,
    importance: 'LOW',
    documentation: `Accepted, without effect: ${documentation}`,
  }) as const;
