/** What the connectors say of themselves in `source` and in the list of plug-ins. */
export const CONNECTOR_VERSION = '0.1.0';
