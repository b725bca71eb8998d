import { diamondAbi } from './core/adapters/diamond-abi.js';
import { encodeFunctionData } from 'viem';
console.log(encodeFunctionData({abi: diamondAbi, functionName:'cancelOpenOrder', args:[1]}));
