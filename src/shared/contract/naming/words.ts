// Tested by test/unit/naming.test.ts.
import { normalForm } from "../normalise.ts";

/** What people and programs write where there is nothing to write. */
const FILLERS = `
n/a|na|n.a|n.a.|#n/a|#na|#null!|#ref!|#value!|#name?|#div/0!|#num!|#error!|#spill!|none|null|nil
nan|nul|undefined|unknown|unspecified|undisclosed|void|empty|blank|missing|not applicable
not available|not provided|not specified|not set|not known|not found|no website|no web site
no domain|no company|no url|no data|no info|nothing|no value
tbd|tba|tbc|todo|pending|unassigned|other|others|various|multiple|misc|miscellaneous|test|dummy
placeholder|private|confidential|stealth|stealth mode|stealth startup|true|false|yes|no|x|xx|xxx
localhost|unavailable
self|self-employed|self employed|selfemployed|freelance|freelancer|freelancing|independent
independent contractor|unemployed|retired|student|homemaker|looking for work
seeking opportunities|between jobs|career break
k.a|k.a.|k. a.|keine angabe|keine|keiner|kein|nicht vorhanden|nicht bekannt|unbekannt|entfällt
ohne|leer|fehlt|selbständig|selbstständig|selbst|freiberuflich|freiberufler|freiberuflerin
arbeitslos|arbeitssuchend|rentner|im ruhestand|folgt|offen|sonstige|#nv
#bezug!|#wert!
aucun|aucune|inconnu|inconnue|non renseigné|non renseignée|non communiqué|non disponible
sans objet|s/o|néant|vide|indépendant|indépendante|auto-entrepreneur|autoentrepreneur
micro-entrepreneur|à définir|à compléter|retraité|retraitée|étudiant|étudiante|sans emploi|autre
autres
ninguno|ninguna|nada|desconocido|desconocida|no aplica|no disponible|sin datos|sin empresa
sin web|s/d|s.d.|n/d|n.d.|nd|autónomo|autónoma|por cuenta propia|por definir|pendiente|vacío
jubilado|jubilada|estudiante|desempleado|desempleada|otro|otros
nessuno|nessuna|niente|sconosciuto|sconosciuta|non disponibile|non applicabile|non specificato
nd|libero professionista|libera professionista|lavoratore autonomo|da definire|vuoto|altro|altri
disoccupato|pensionato|studente
nenhum|nenhuma|desconhecido|desconhecida|não aplicável|não se aplica|não disponível
não informado|sem empresa|sem site|autônomo|autônoma|trabalhador independente|a definir|vazio
outro|outros|aposentado|estudante|desempregado
geen|onbekend|n.v.t|n.v.t.|nvt|niet van toepassing|niet beschikbaar|niet bekend|zzp|zzp'er
zelfstandig|zelfstandige|leeg|nog te bepalen|anders|overig|gepensioneerd|werkloos
ingen|inget|okänd|okänt|ukendt|ukjent|ej tillämpligt|saknas|egenföretagare|egen företagare
selvstændig|selvstendig|selvstendig næringsdrivende|ei ole|tuntematon|yrittäjä|saknar
ikke relevant|ikke tilgjengelig|tomt
brak|brak danych|nie dotyczy|nieznany|nieznana|nieznane|nie podano|samozatrudniony
samozatrudnienie|własna działalność|działalność gospodarcza|inne|žádný|žádná|neznámý
neuvedeno|osvč|není
нет|нет данных|неизвестно|неизвестен|не указано|не указан|не применимо|неприменимо|н/д
самозанятый|самозанятая|фрилансер|безработный|пенсионер|студент|прочее|другое|пусто
немає|невідомо
yok|bilinmiyor|belirtilmemiş|belirtilmedi|geçerli değil|serbest|serbest meslek|serbest çalışan
emekli|öğrenci|işsiz|diğer|boş
なし|無し|無|不明|未定|未設定|未入力|該当なし|自営業|フリーランス|個人事業主|無職|その他
没有|无|無い|未知|暂无|暫無|不详|不詳|未填写|不适用|不適用|自由职业
自由職業|自雇|其他|空|없음|미정|미상|알 수 없음
해당 없음|해당없음|프리랜서|자영업|기타
لا يوجد|غير معروف|غير محدد|غير متوفر|عمل حر|לא ידוע|אין|עצמאי|कोई नहीं|अज्ञात|लागू नहीं
`;

/** Without the signs around it, and without what stands between its words. */
const bare = (text: string): string =>
  normalForm(text)
    .replace(/^[^\p{L}\p{N}#/\\]+|[^\p{L}\p{M}\p{N}!?]+$/gu, "")
    .replace(/[\s_-]+/g, "");

/** Made when first asked for: 3 ms of CPU, and most commands ask for none. */
function wordsIn(text: string): (word: string) => boolean {
  let words: ReadonlySet<string> | undefined;
  return (word) => {
    words ??= new Set(text.split(/[|\n]/).map(bare));
    return words.has(word);
  };
}

/** What stands before a sum of a column. */
const isTotal = wordsIn(`
total|totals|grand total|subtotal|sum|summe|gesamt|gesamtsumme|zwischensumme|suma|totale|somma
sous-total|total général|totaal|itogo|итого|всего|toplam|合計|小計|总计|合计|總計|합계
`);
const isNothing = wordsIn(FILLERS);

/** Whether a text stands where its writer had nothing to write: `N/A`, `--None--`, `(unknown)`. */
export const isFiller = (text: string): boolean => {
  const word = bare(text);
  return word === "" || isNothing(word) || isTotal(word);
};

/** Whether a row is of sums: its first text is a word for that, and no other has a letter. */
export const isOfTotals = ([first = "", ...others]: readonly string[]): boolean =>
  isTotal(bare(first)) && !others.some((text) => /\p{L}/u.test(text));
