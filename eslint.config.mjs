import tseslint from 'typescript-eslint';

const environmentReaders = ['app/cli.ts', 'app/commands/**', 'sandbox/main.ts', 'test/**', 'scripts/**', 'bench/**'];

export default tseslint.config(
  {
    ignores: [
      'dist/**',
      'coverage/**',
      'client/dist/**',
      'sandbox/contracts/artefact.ts',
      'client/src/api.ts',
      'core/adapters/evm/diamond-abi.ts',
    ],
  },
  {
    files: ['**/*.ts', '**/*.tsx'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/consistent-type-definitions': ['error', 'interface'],
      '@typescript-eslint/no-confusing-void-expression': 'off',
      'max-lines': ['error', { max: 300, skipBlankLines: true, skipComments: true }],
    },
  },
  { files: ['core/adapters/evm/diamond-signatures.ts', 'client/src/diamond-abi.ts'], rules: { 'max-lines': 'off' } },
  // jest's asymmetric matchers are `any`, and a suite may be as long as what it describes.
  { files: ['test/**'], rules: { 'max-lines': 'off', '@typescript-eslint/no-unsafe-assignment': 'off' } },
  {
    // Configuration enters through the mains and is passed on by value, so every setting has one validated home.
    files: ['**/*.ts', '**/*.tsx'],
    ignores: environmentReaders,
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector: "MemberExpression[object.name='process'][property.name='env']",
          message: 'Read settings in core/config/config.ts; mains pass process.env to it.',
        },
      ],
    },
  },
);
