/** What `import … from 'millrace'` gives to plugins of others: all of runtime/api, and the data model to make schemas and values with. */
export * from '../../schemas/data/index.ts';
export * from './index.ts';
