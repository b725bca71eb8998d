import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { request, type Answer, type RequestOptions } from '../api/request.js';
import { useResource, type Resource } from '../api/resource.js';

/** Calls operator routes with the token; a refused token ends the session. */
export interface OperatorApi {
  call<Data>(path: string, options?: RequestOptions): Promise<Answer<Data>>;
}

/** The token travels in a header and in nothing else. */
export function createOperatorApi(token: string, onRefused: () => void): OperatorApi {
  return {
    async call<Data>(path: string, options: RequestOptions = {}) {
      const answer = await request<Data>(`/relayer${path}`, { ...options, headers: { Authorization: `Bearer ${token}` } });
      if (!answer.ok && answer.problem.status === 401) onRefused();
      return answer;
    },
  };
}

const NOBODY: OperatorApi = { call: () => Promise.reject(new Error('There is no token.')) };
export const OperatorContext = createContext<OperatorApi>(NOBODY);
export const useOperator = (): OperatorApi => useContext(OperatorContext);

export function useOperatorResource<Data>(path: string, everyMs: number): Resource<Data> {
  const api = useOperator();
  return useResource(path, (abort) => api.call<Data>(path, { signal: abort }), everyMs);
}
