// Tested by test/unit/shared/aliases.test.ts.
import { normalForm, withoutMarks } from "./normalise.ts";
import { type FilterKey, knownValues } from "./vocabulary.ts";

// What people write for a value that a dataset has under another name. An entry is `codes: names`,
// the name that is usual in datasets first.

/** Countries: ISO 3166-1 codes of two and three letters, and names in use. */
const COUNTRIES = `
ad and: andorra; ae are: united arab emirates, uae, emirates; af afg: afghanistan;
ag atg: antigua & barbuda; ai aia: anguilla; al alb: albania; am arm: armenia; ao ago: angola;
aq ata: antarctica; ar arg: argentina; as asm: american samoa; at aut: austria, osterreich;
au aus: australia; aw abw: aruba; ax ala: åland islands; az aze: azerbaijan;
ba bih: bosnia and herzegovina; bb brb: barbados; bd bgd: bangladesh; be bel: belgium;
bf bfa: burkina faso; bg bgr: bulgaria; bh bhr: bahrain; bi bdi: burundi; bj ben: benin;
bl blm: st. barthélemy, saint barthélemy; bm bmu: bermuda; bn brn: brunei, brunei darussalam;
bo bol: bolivia, plurinational state of bolivia; bq bes: caribbean netherlands;
br bra: brazil, brasil; bs bhs: bahamas; bt btn: bhutan; bv bvt: bouvet island; bw bwa: botswana;
by blr: belarus; bz blz: belize; ca can: canada; cc cck: cocos islands;
cd cod: democratic republic of the congo, congo kinshasa, dr congo, drc;
cf caf: central african republic; cg cog: republic of the congo, congo brazzaville, congo;
ch che: switzerland, schweiz, suisse; ci civ: côte d'ivoire, ivory coast; ck cok: cook islands;
cl chl: chile; cm cmr: cameroon; cn chn: china, prc, people's republic of china;
co col: colombia; cr cri: costa rica; cu cub: cuba; cv cpv: cape verde; cw cuw: curaçao;
cx cxr: christmas island; cy cyp: cyprus; cz cze: czechia, czech republic;
de deu: germany, deutschland; dj dji: djibouti; dk dnk: denmark; dm dma: dominica;
do dom: dominican republic; dz dza: algeria; ec ecu: ecuador; ee est: estonia; eg egy: egypt;
eh esh: western sahara; er eri: eritrea; es esp: spain, espana; et eth: ethiopia;
fi fin: finland; fj fji: fiji; fk flk: falkland islands;
fm fsm: micronesia, federated states of micronesia; fo fro: faroe islands; fr fra: france;
ga gab: gabon; gb gbr: united kingdom, uk, great britain, britain, england; gd grd: grenada;
ge geo: georgia; gf guf: french guiana; gg ggy: guernsey; gh gha: ghana; gi gib: gibraltar;
gl grl: greenland; gm gmb: gambia; gn gin: guinea; gp glp: guadeloupe; gq gnq: equatorial guinea;
gr grc: greece; gs sgs: south georgia & south sandwich islands; gt gtm: guatemala; gu gum: guam;
gw gnb: guinea-bissau; gy guy: guyana; hk hkg: hong kong, hong kong sar;
hm hmd: heard & mcdonald islands; hn hnd: honduras; hr hrv: croatia; ht hti: haiti;
hu hun: hungary; id idn: indonesia; ie irl: ireland, republic of ireland; il isr: israel;
im imn: isle of man; in ind: india; io iot: british indian ocean territory; iq irq: iraq;
ir irn: iran, islamic republic of iran; is isl: iceland; it ita: italy, italia; je jey: jersey;
jm jam: jamaica; jo jor: jordan; jp jpn: japan; ke ken: kenya; kg kgz: kyrgyzstan;
kh khm: cambodia; ki kir: kiribati; km com: comoros;
kn kna: st. kitts & nevis, saint kitts & nevis; kp prk: north korea;
kr kor: south korea, korea, republic of korea; kw kwt: kuwait; ky cym: cayman islands;
kz kaz: kazakhstan; la lao: laos, lao; lb lbn: lebanon; lc lca: st. lucia, saint lucia;
li lie: liechtenstein; lk lka: sri lanka; lr lbr: liberia; ls lso: lesotho; lt ltu: lithuania;
lu lux: luxembourg; lv lva: latvia; ly lby: libya; ma mar: morocco; mc mco: monaco;
md mda: moldova, republic of moldova; me mne: montenegro; mf maf: st. martin, saint martin;
mg mdg: madagascar; mh mhl: marshall islands; mk mkd: north macedonia, macedonia; ml mli: mali;
mm mmr: myanmar, burma; mn mng: mongolia; mo mac: macao, macau; mp mnp: northern mariana islands;
mq mtq: martinique; mr mrt: mauritania; ms msr: montserrat; mt mlt: malta; mu mus: mauritius;
mv mdv: maldives; mw mwi: malawi; mx mex: mexico; my mys: malaysia; mz moz: mozambique;
na nam: namibia; nc ncl: new caledonia; ne ner: niger; nf nfk: norfolk island; ng nga: nigeria;
ni nic: nicaragua; nl nld: netherlands, holland, the netherlands; no nor: norway; np npl: nepal;
nr nru: nauru; nu niu: niue; nz nzl: new zealand; om omn: oman; pa pan: panama; pe per: peru;
pf pyf: french polynesia; pg png: papua new guinea; ph phl: philippines; pk pak: pakistan;
pl pol: poland; pm spm: st. pierre & miquelon, saint pierre & miquelon; pn pcn: pitcairn islands;
pr pri: puerto rico; ps pse: palestine, palestinian territories, state of palestine;
pt prt: portugal; pw plw: palau; py pry: paraguay; qa qat: qatar; re reu: réunion;
ro rou: romania; rs srb: serbia; ru rus: russia, russian federation; rw rwa: rwanda;
sa sau: saudi arabia, ksa; sb slb: solomon islands; sc syc: seychelles; sd sdn: sudan;
se swe: sweden; sg sgp: singapore; sh shn: st. helena, saint helena; si svn: slovenia;
sj sjm: svalbard & jan mayen; sk svk: slovakia; sl sle: sierra leone; sm smr: san marino;
sn sen: senegal; so som: somalia; sr sur: suriname; ss ssd: south sudan;
st stp: são tomé & príncipe; sv slv: el salvador; sx sxm: sint maarten;
sy syr: syria, syrian arab republic; sz swz: eswatini, swaziland; tc tca: turks & caicos islands;
td tcd: chad; tf atf: french southern territories; tg tgo: togo; th tha: thailand;
tj tjk: tajikistan; tk tkl: tokelau; tl tls: timor-leste, east timor; tm tkm: turkmenistan;
tn tun: tunisia; to ton: tonga; tr tur: türkiye, turkey; tt tto: trinidad & tobago;
tv tuv: tuvalu; tw twn: taiwan; tz tza: tanzania, united republic of tanzania; ua ukr: ukraine;
ug uga: uganda; um umi: u.s. outlying islands;
us usa: united states, usa, america, united states of america, us of a, the united states;
uy ury: uruguay; uz uzb: uzbekistan; va vat: vatican city, vatican, holy see;
vc vct: st. vincent & grenadines, saint vincent & grenadines;
ve ven: venezuela, bolivarian republic of venezuela; vg vgb: british virgin islands;
vi vir: u.s. virgin islands; vn vnm: vietnam, viet nam; vu vut: vanuatu; wf wlf: wallis & futuna;
ws wsm: samoa; ye yem: yemen; yt myt: mayotte; za zaf: south africa; zm zmb: zambia;
zw zwe: zimbabwe
`;

/** States of the United States by their postal codes. */
const STATES = `
ak: alaska; al: alabama; ar: arkansas; az: arizona; ca: california; co: colorado;
ct: connecticut; dc: district of columbia; de: delaware; fl: florida; ga: georgia; hi: hawaii;
ia: iowa; id: idaho; il: illinois; in: indiana; ks: kansas; ky: kentucky; la: louisiana;
ma: massachusetts; md: maryland; me: maine; mi: michigan; mn: minnesota; mo: missouri;
ms: mississippi; mt: montana; nc: north carolina; nd: north dakota; ne: nebraska;
nh: new hampshire; nj: new jersey; nm: new mexico; nv: nevada; ny: new york; oh: ohio;
ok: oklahoma; or: oregon; pa: pennsylvania; ri: rhode island; sc: south carolina;
sd: south dakota; tn: tennessee; tx: texas; ut: utah; va: virginia; vt: vermont; wa: washington;
wi: wisconsin; wv: west virginia; wy: wyoming
`;

const LEVELS = `
: owner, founder, co-founder, proprietor;
: c-suite, cxo, c-level, chief, executive, c-suite executive;
vp: vp, vice president; : head, head of; dir: director; mgr: manager; sr snr: senior, senior level;
jr: entry, entry level, junior; : intern, internship, trainee
`;

const DEPARTMENTS = `
: customer service, customer support, customer success, support;
: engineering and technical, engineering, information technology, it, technology;
: finance & accounting, accounting; : human resources, hr, people; : medical, healthcare;
: operations, ops; : project management, pmo; : research, r&d; : sales, business development, bd
`;

/** Abbreviations in titles, as words among others. */
const TITLES = `
cao: chief administrative officer; cco: chief commercial officer; cdo: chief data officer;
ceo: chief executive officer; cfo: chief financial officer; chro: chief human resources officer;
cio: chief information officer; ciso: chief information security officer; clo: chief legal officer;
cmo: chief marketing officer; coo: chief operating officer; cpo: chief product officer;
cro: chief revenue officer; cso: chief strategy officer;
cto: chief technology officer, chief technical officer;
avp: assistant vice president; evp: executive vice president; svp: senior vice president;
vp: vice president; md: managing director; gm: general manager; ae: account executive;
sdr: sales development representative; bdr: business development representative;
pm: product manager, project manager; swe: software engineer; sre: site reliability engineer;
hr: human resources; qa: quality assurance; asst: assistant; assoc: associate; dir: director;
eng: engineer; jr: junior; mgr: manager; rep: representative; sr snr: senior; sw: software
`;

interface Entry {
  readonly codes: readonly string[];
  readonly names: readonly string[];
}

interface Book {
  readonly text: string;
  /** Whether a name may stand among other words. */
  readonly within: boolean;
}

const BOOKS: Readonly<Record<string, Book>> = {
  country: { text: COUNTRIES, within: false },
  department: { text: DEPARTMENTS, within: false },
  state: { text: STATES, within: false },
  seniority: { text: LEVELS, within: false },
  seniority_level: { text: LEVELS, within: false },
  title: { text: TITLES, within: true },
};

const READ = new Map<string, readonly Entry[]>();

function entriesOf({ text }: Book): readonly Entry[] {
  const before = READ.get(text);
  if (before !== undefined) return before;

  const entries = text.split(";").map((line) => {
    const [codes = "", names = ""] = line.split(":");
    return {
      codes: codes.trim().split(" ").filter(Boolean),
      names: names.split(",").map((name) => name.trim()),
    };
  });
  READ.set(text, entries);
  return entries;
}

/** As a name is compared: `U.S.A.` and `usa` are one, so are `C-Suite` and `c suite`. */
const plain = (text: string): string =>
  withoutMarks(normalForm(text))
    .replaceAll(".", "")
    .replaceAll("&", " and ")
    .replace(/[\s_-]+/g, " ")
    .replace(/^the /, "");

/** A text with one name in place of another, where it has that name; undefined where it has not. */
function swapped(text: string, name: string, other: string, { within }: Book): string | undefined {
  if (!within) return text === plain(name) ? other : undefined;
  const padded = ` ${text} `;
  const known = ` ${plain(name)} `;
  return padded.includes(known) ? padded.replace(known, ` ${other} `).trim() : undefined;
}

const bookOf = (key: string): Book | undefined => BOOKS[key.replace(/_prefix$/, "")];

/** A value with the names that are usual in datasets in place of others; as it is where none is. */
export function usualName(key: string, value: string): string {
  const book = bookOf(key);
  if (book === undefined) return value;

  const text = plain(value);
  const usual = entriesOf(book).reduce(
    (before, { codes, names: [first = "", ...names] }) =>
      [...names, ...codes].reduce((now, name) => swapped(now, name, first, book) ?? now, before),
    text,
  );
  return usual === text ? value : usual;
}

/**
 * What a value of a key, or the beginning of one, may be called instead.
 * @returns in normal form, the likeliest first; none where nothing is known
 */
export function otherNames(key: string, value: string): readonly string[] {
  const book = bookOf(key);
  if (book === undefined) return [];

  const text = plain(value);
  const found = entriesOf(book).flatMap(({ codes, names }) => {
    const all = [...names, ...codes];
    const said = all.find((name) => swapped(text, name, "", book) !== undefined);
    return said === undefined ? [] : all.map((other) => swapped(text, said, other, book) ?? "");
  });
  const own = normalForm(value);
  const all = new Set([normalForm(usualName(key, value)), ...found]);
  return [...all].filter((other) => other !== "" && other !== own);
}

const KEYS = ["department", "seniority_level", "country", "title"] as const;

/**
 * The filter whose value a text is, where what is known offline says so. A code of a country is
 * a word of English too often: it is none here.
 * @returns the value as it is found by
 */
export function filterFor(text: string): readonly [key: FilterKey, value: string] | undefined {
  const wanted = plain(text);
  for (const key of KEYS) {
    const listed = knownValues(key).find((value) => plain(value) === wanted);
    if (listed !== undefined) return [key, listed];

    const book = BOOKS[key];
    const entry = (book === undefined ? [] : entriesOf(book)).find(({ codes, names }) =>
      [...names, ...(key === "country" ? [] : codes)].some((name) => plain(name) === wanted),
    );
    if (entry?.names[0] !== undefined) return [key, entry.names[0]];
  }
  return undefined;
}
