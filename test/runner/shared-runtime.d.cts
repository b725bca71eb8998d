declare class SharedRuntime {}
export = SharedRuntime;
