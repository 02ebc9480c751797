export const CONNECTOR_VERSION = '0.1.0';
