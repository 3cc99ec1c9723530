package org.cetp.provider;

/** Told of the two moments of an execution with effects that a monitor cares for. Called on the executing thread. */
public interface ExecutionObserver {
    /** The execution has its record and no effect yet. Nothing is committed. */
    void reserved(String tool);

    /** The effect and its result are committed, and nobody has been told. */
    void committed(String tool);

    ExecutionObserver NONE =
            new ExecutionObserver() {
                @Override
                public void reserved(String tool) {}

                @Override
                public void committed(String tool) {}
            };
}
