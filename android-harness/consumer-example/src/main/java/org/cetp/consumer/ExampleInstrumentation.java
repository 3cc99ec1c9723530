package org.cetp.consumer;

import org.cetp.shim.ConsumerInstrumentation;
import org.cetp.shim.ConsumerUnderTest;

/** Makes the example a target; see {@link ConsumerInstrumentation}. */
public class ExampleInstrumentation extends ConsumerInstrumentation {
    public static final String NAME = "android-consumer-example";
    public static final String VERSION = "1.0.0";

    @Override
    protected ConsumerUnderTest.Factory consumers() {
        return ExampleConsumer.FACTORY;
    }

    @Override
    protected String[] nameAndVersion() {
        return new String[] {NAME, VERSION};
    }
}
