import com.android.dex.ClassDef;
import com.android.dex.Dex;
import java.io.File;

/** Lists the classes that a dex file defines, one a line: what an APK really holds. */
public final class DexClasses {
    private DexClasses() {}

    public static void main(String[] arguments) throws Exception {
        Dex dex = new Dex(new File(arguments[0]));
        for (ClassDef type : dex.classDefs()) {
            String name = dex.typeNames().get(type.getTypeIndex());
            System.out.println(name.substring(1, name.length() - 1).replace('/', '.'));
        }
    }
}
