// Earlier entries are more frequent. A change here changes every generated dataset: raise `SAMPLE_VERSION` with it.

/** Countries by falling size; the first 200 are used, `Name:culture`. */
const COUNTRY_LINES = `United States:english India:indian United Kingdom:english Brazil:portuguese France:french Canada:english
Germany:german Spain:spanish Italy:italian Netherlands:german Australia:english Mexico:spanish Indonesia:asian Turkey:turkish
Argentina:spanish China:chinese Colombia:spanish Poland:slavic South Africa:african Japan:japanese Sweden:nordic
Philippines:asian United Arab Emirates:arabic Belgium:french Chile:spanish Peru:spanish Switzerland:german Nigeria:african
Malaysia:asian Portugal:portuguese Denmark:nordic Pakistan:indian Singapore:asian Romania:slavic Saudi Arabia:arabic
Ireland:english Egypt:arabic Norway:nordic Israel:english New Zealand:english Vietnam:asian Austria:german Kenya:african
Ukraine:cyrillic Czechia:slavic Finland:nordic Greece:slavic South Korea:korean Thailand:asian Hungary:slavic Morocco:arabic
Bangladesh:indian Ecuador:spanish Taiwan:chinese Hong Kong:chinese Sri Lanka:indian Bulgaria:cyrillic Serbia:slavic Tunisia:arabic
Algeria:arabic Venezuela:spanish Costa Rica:spanish Slovakia:slavic Croatia:slavic Uruguay:spanish Ghana:african Qatar:arabic
Dominican Republic:spanish Guatemala:spanish Kuwait:arabic Lebanon:arabic Jordan:arabic Slovenia:slavic Lithuania:slavic Latvia:slavic
Estonia:nordic Panama:spanish Bolivia:spanish Paraguay:spanish El Salvador:spanish Honduras:spanish Nicaragua:spanish
Puerto Rico:spanish Cyprus:slavic Luxembourg:french Malta:italian Iceland:nordic Oman:arabic Bahrain:arabic Kazakhstan:cyrillic
Belarus:cyrillic Georgia:cyrillic Armenia:cyrillic Azerbaijan:turkish Uzbekistan:turkish Nepal:indian Cambodia:asian Myanmar:asian
Laos:asian Mongolia:cyrillic Uganda:african Tanzania:african Ethiopia:african Rwanda:african Zambia:african Zimbabwe:african
Botswana:african Namibia:african Mozambique:portuguese Angola:portuguese Senegal:french Ivory Coast:french Cameroon:french
Democratic Republic of the Congo:french Gabon:french Mali:french Burkina Faso:french Benin:french Togo:french Niger:french
Guinea:french Madagascar:french Mauritius:french Seychelles:french Reunion:french Malawi:african Lesotho:african Eswatini:african
Liberia:african Sierra Leone:african Gambia:african Sudan:arabic South Sudan:african Somalia:arabic Djibouti:arabic Eritrea:african
Libya:arabic Mauritania:arabic Chad:french Central African Republic:french Congo:french Equatorial Guinea:spanish Burundi:french
Cape Verde:portuguese Guinea-Bissau:portuguese Sao Tome and Principe:portuguese Comoros:arabic Iraq:arabic Yemen:arabic
Syria:arabic Palestine:arabic Iran:arabic Afghanistan:arabic Kyrgyzstan:cyrillic Tajikistan:cyrillic Turkmenistan:turkish
Moldova:slavic North Macedonia:slavic Albania:slavic Kosovo:slavic Montenegro:slavic Bosnia and Herzegovina:slavic
Russia:cyrillic Jamaica:english Trinidad and Tobago:english Bahamas:english Barbados:english Guyana:english Suriname:german
Belize:english Haiti:french Cuba:spanish Martinique:french Guadeloupe:french French Guiana:french Aruba:german Curacao:german
Bermuda:english Cayman Islands:english Saint Lucia:english Grenada:english Antigua and Barbuda:english Dominica:english
Saint Vincent and the Grenadines:english Saint Kitts and Nevis:english Brunei:asian Macau:chinese Timor-Leste:portuguese
Maldives:indian Bhutan:indian Papua New Guinea:english Fiji:english Samoa:english Tonga:english Vanuatu:french
Solomon Islands:english Kiribati:english Micronesia:english Palau:english New Caledonia:french French Polynesia:french
Guam:english Monaco:french Andorra:spanish Liechtenstein:german San Marino:italian Gibraltar:english Jersey:english
Guernsey:english Isle of Man:english Greenland:nordic Faroe Islands:nordic`;

/** Real states and cities of the big countries, `State=City,City`; the rest of the places are made up. */
const PLACE_LINES = `United States: California=San Francisco,Los Angeles,San Diego,San Jose,Sacramento,Oakland|New York=New York,Buffalo,Rochester,Albany|Texas=Austin,Dallas,Houston,San Antonio,Fort Worth|Illinois=Chicago,Naperville,Springfield|Massachusetts=Boston,Cambridge,Worcester|Washington=Seattle,Bellevue,Spokane|Florida=Miami,Tampa,Orlando,Jacksonville|Georgia=Atlanta,Savannah,Augusta|Pennsylvania=Philadelphia,Pittsburgh|Colorado=Denver,Boulder,Colorado Springs|Ohio=Columbus,Cleveland,Cincinnati|North Carolina=Charlotte,Raleigh,Durham|Virginia=Richmond,Arlington|New Jersey=Newark,Jersey City,Princeton|Michigan=Detroit,Ann Arbor|Arizona=Phoenix,Tucson|Minnesota=Minneapolis,Saint Paul|Oregon=Portland,Eugene|Utah=Salt Lake City,Provo|Tennessee=Nashville,Memphis|Maryland=Baltimore,Bethesda|Missouri=St. Louis,Kansas City|Wisconsin=Milwaukee,Madison|Connecticut=Hartford,New Haven|Indiana=Indianapolis|Nevada=Las Vegas,Reno|Louisiana=New Orleans|Kentucky=Louisville|Oklahoma=Oklahoma City|Iowa=Des Moines|Kansas=Wichita|South Carolina=Charleston|Alabama=Birmingham|Nebraska=Omaha|New Mexico=Albuquerque|Idaho=Boise|Hawaii=Honolulu|Rhode Island=Providence|New Hampshire=Manchester|Maine=Portland|Vermont=Burlington|Delaware=Wilmington|Arkansas=Little Rock|Mississippi=Jackson|Montana=Bozeman|Alaska=Anchorage|West Virginia=Charleston|South Dakota=Sioux Falls|North Dakota=Fargo|Wyoming=Cheyenne
India: Maharashtra=Mumbai,Pune,Nagpur|Karnataka=Bengaluru,Mysuru|Delhi=New Delhi|Telangana=Hyderabad|Tamil Nadu=Chennai,Coimbatore|West Bengal=Kolkata|Gujarat=Ahmedabad,Surat|Haryana=Gurugram|Uttar Pradesh=Noida,Lucknow|Kerala=Kochi|Rajasthan=Jaipur|Madhya Pradesh=Indore,Bhopal|Punjab=Chandigarh
United Kingdom: England=London,Manchester,Birmingham,Leeds,Bristol,Liverpool,Cambridge,Oxford|Scotland=Edinburgh,Glasgow,Aberdeen|Wales=Cardiff,Swansea|Northern Ireland=Belfast
Brazil: São Paulo=São Paulo,Campinas,Santos|Rio de Janeiro=Rio de Janeiro,Niterói|Minas Gerais=Belo Horizonte,Uberlândia|Paraná=Curitiba,Londrina|Rio Grande do Sul=Porto Alegre|Bahia=Salvador|Pernambuco=Recife|Santa Catarina=Florianópolis|Ceará=Fortaleza|Distrito Federal=Brasília|Goiás=Goiânia
France: Île-de-France=Paris,Boulogne-Billancourt,Versailles|Auvergne-Rhône-Alpes=Lyon,Grenoble|Provence-Alpes-Côte d'Azur=Marseille,Nice|Occitanie=Toulouse,Montpellier|Nouvelle-Aquitaine=Bordeaux|Hauts-de-France=Lille|Grand Est=Strasbourg|Bretagne=Rennes|Pays de la Loire=Nantes
Canada: Ontario=Toronto,Ottawa,Mississauga,Waterloo|Quebec=Montréal,Québec|British Columbia=Vancouver,Victoria|Alberta=Calgary,Edmonton|Manitoba=Winnipeg|Nova Scotia=Halifax|Saskatchewan=Regina
Germany: Bayern=München,Nürnberg,Augsburg|Berlin=Berlin|Hamburg=Hamburg|Hessen=Frankfurt am Main,Darmstadt|Nordrhein-Westfalen=Köln,Düsseldorf,Dortmund|Baden-Württemberg=Stuttgart,Karlsruhe|Sachsen=Leipzig,Dresden|Niedersachsen=Hannover|Bremen=Bremen|Rheinland-Pfalz=Mainz|Thüringen=Jena
Spain: Comunidad de Madrid=Madrid|Cataluña=Barcelona,Girona|Andalucía=Sevilla,Málaga,Granada|Comunidad Valenciana=Valencia,Alicante|País Vasco=Bilbao|Galicia=A Coruña,Vigo|Aragón=Zaragoza
Italy: Lombardia=Milano,Bergamo|Lazio=Roma|Piemonte=Torino|Veneto=Venezia,Verona|Emilia-Romagna=Bologna,Modena|Toscana=Firenze|Campania=Napoli|Sicilia=Palermo
Netherlands: Noord-Holland=Amsterdam,Haarlem|Zuid-Holland=Rotterdam,The Hague|Utrecht=Utrecht|Noord-Brabant=Eindhoven|Groningen=Groningen
Australia: New South Wales=Sydney,Newcastle|Victoria=Melbourne,Geelong|Queensland=Brisbane|Western Australia=Perth|South Australia=Adelaide|Tasmania=Hobart
Mexico: Ciudad de México=Ciudad de México|Jalisco=Guadalajara|Nuevo León=Monterrey|Puebla=Puebla|Querétaro=Querétaro|Yucatán=Mérida
Turkey: İstanbul=İstanbul|Ankara=Ankara|İzmir=İzmir|Bursa=Bursa|Antalya=Antalya
China: Beijing=Beijing|Shanghai=Shanghai|Guangdong=Shenzhen,Guangzhou|Zhejiang=Hangzhou|Sichuan=Chengdu
Poland: Mazowieckie=Warszawa|Małopolskie=Kraków|Dolnośląskie=Wrocław|Pomorskie=Gdańsk|Łódzkie=Łódź|Wielkopolskie=Poznań
Japan: 東京都=東京|大阪府=大阪|愛知県=名古屋|福岡県=福岡|Kanagawa=Yokohama
Sweden: Stockholms län=Stockholm|Västra Götaland=Göteborg|Skåne=Malmö|Uppsala län=Uppsala
Switzerland: Zürich=Zürich|Genève=Genève|Basel-Stadt=Basel|Vaud=Lausanne|Bern=Bern
Denmark: Hovedstaden=København|Midtjylland=Aarhus|Syddanmark=Odense
Ukraine: Київ=Київ|Львівська область=Львів|Харківська область=Харків|Odesa Oblast=Odesa
Singapore: Singapore=Singapore
Ireland: Leinster=Dublin|Munster=Cork,Limerick|Connacht=Galway`;

/** By seven lines: culture; first and last names (`display/ascii`); heads and tails of made-up surnames; heads and tails of places. */
const NAME_LINES = `english
James Mary John Jennifer Michael Linda David Emily Robert Sarah William Jessica Thomas Laura Christopher Amanda Daniel Karen Matthew Lisa Anthony Nancy Mark Ashley Andrew Megan Joshua Rachel Kevin Hannah Brian Olivia Ryan Grace Jacob Chloe Zoë/Zoe Renée/Renee
Smith Johnson Williams Brown Jones Miller Davis Wilson Anderson Taylor Moore Jackson Martin Lee Thompson White Harris Clark Lewis Robinson Walker Young Allen King Wright Scott Hill Green Adams Baker O'Connor/oconnor O'Brien/obrien MacDonald Nelson Carter
Ash Black Brook Cald Dun East Fair Grey Hart Holl Kings Lang Marsh North Oak Pem Red Shel Stan Thorn Wake West Whit Win Wood
bury by croft don field ford gate ham hurst ington land ley man more ridge shaw stead ston ton well wick wood worth
Ash Brook Clear Cedar Eagle East Fair Glen Green Harbor High Lake Maple Mill New North Oak Pine River Rock Silver Spring Stone West Wood
borough bridge brook burg dale field ford grove haven hill land mont port side ton vale view ville wood worth
spanish
José/jose María/maria Juan Carmen Luis Ana Carlos Laura Javier Lucía/lucia Miguel Sofía/sofia Antonio Paula Francisco Elena Manuel Marta Pedro Isabel Jesús/jesus Andrea Diego Cristina Alejandro Raquel Fernando Patricia Pablo Rocío/rocio Sergio Beatriz Ángel/angel Inés/ines Iván/ivan Begoña/begona
García/garcia Rodríguez/rodriguez González/gonzalez Fernández/fernandez López/lopez Martínez/martinez Sánchez/sanchez Pérez/perez Gómez/gomez Martín/martin Jiménez/jimenez Ruiz Hernández/hernandez Díaz/diaz Moreno Muñoz/munoz Álvarez/alvarez Romero Alonso Gutiérrez/gutierrez Navarro Torres Ramos Gil Castro Ortega Núñez/nunez Ibáñez/ibanez Peña/pena Vargas
Al Bel Cam Cast Cor Del Esc Fuen Guer Her Ira Lar Mal Mon Ol Pal Quin Riv Sal Val
ado ales ano ar arez eda ejo ero eta illo ina ola osa oza uela uero
Al Bel Cala Castro Fuente Guada Loma Mira Monte Palma Pueblo Rio San Santa Torre Valle Villa Vista
banda blanca bera cinto clara dorada flor franca lares lejos mar nueva quero redonda rica verde viejo zuela
portuguese
João/joao Maria José/jose Ana Carlos Juliana Paulo Fernanda Pedro Camila Lucas Mariana Rafael Beatriz Gustavo Larissa Marcos Letícia/leticia Felipe Patrícia/patricia André/andre Luísa/luisa Thiago Gabriela Antônio/antonio Conceição/conceicao Vinícius/vinicius Inês/ines
Silva Santos Oliveira Souza Lima Pereira Ferreira Costa Rodrigues Almeida Nascimento Alves Carvalho Araújo/araujo Ribeiro Gonçalves/goncalves Martins Barbosa Rocha Dias Moreira Cardoso Teixeira Fonseca Simões/simoes Conceição/conceicao
Abr Bar Brit Cal Cam Dur Est Fal Gal Lac Mag Mou Nog Pal Quei Sal Tav Val Vil Xav
ado ais ante arinho ares eda eira eiro elos era ilha inho ito oso uza
Barra Bela Boa Campo Cruz Lagoa Monte Nova Ouro Pedra Ponte Porto Praia Rio Santa São Serra Vila
branca clara do Sul do Norte formosa grande linda mar negra novo verde vista zinha
french
Jean Marie Pierre Camille Nicolas Julie Thomas Léa/lea Antoine Chloé/chloe François/francois Élodie/elodie Julien Aurélie/aurelie Alexandre Céline/celine Mathieu Sophie Guillaume Émilie/emilie Benoît/benoit Hélène/helene Loïc/loic Maëlle/maelle Rémi/remi Zoé/zoe
Martin Bernard Dubois Thomas Robert Richard Petit Durand Leroy Moreau Simon Laurent Lefèvre/lefevre Michel Garcia David Bertrand Roux Vincent Fournier Girard Bonnet Dupont Lambert Fontaine Rousseau Lévêque/leveque Crépin/crepin D'Aubigné/daubigne
Beau Bel Bois Cha Clair Cour De Du Fer Gran La Le Mar Mon Pel Pré Roche Sau Val Ville
ard aud bert clerc don dy fort gny lain lier mont neuf nay pont ric rin roy sart tier vy
Beau Belle Bourg Chateau Clair Cour Font Grand Haut Mont Neuf Notre Pont Roche Saint- Val Vaux Ville
bourg clair court fort gny lac lieu louis martin mer mont neuve pierre pré rive sur-Mer tier ville
german
Thomas Anna Michael Julia Andreas Sabine Stefan Katharina Christian Laura Daniel Lena Markus Nina Jan Jürgen/juergen Günther/guenther Björn/bjoern Jörg/joerg Käthe/kaethe Sören/soeren Lukas Sophie Felix Hannah Maximilian Lisa Tobias Petra Wolfgang Ute
Müller/mueller Schmidt Schneider Fischer Weber Meyer Wagner Becker Schulz Hoffmann Schäfer/schaefer Koch Bauer Richter Klein Wolf Schröder/schroeder Neumann Schwarz Zimmermann Braun Krüger/krueger Hofmann Lange Weiß/weiss Großmann/grossmann Jäger/jaeger Vogel Köhler/koehler Strauß/strauss
Alt Berg Blum Buch Eich Feld Gold Grün Hart Hoch Kirch Land Linden Ober Rosen Schön Stein Unter Wald Winter
acker bach bauer baum berger brand brecht dorfer eder feld hammer haus heimer hofer huber mann meier müller reuter stein
Alt Bad Berg Birken Burg Eber Eich Feld Frei Grün Hohen Kirch Königs Linden Mühl Neu Ober Rosen Schön Unter Wald
bach berg brück burg dorf feld furt hafen hausen heim hof ingen kirchen rode stadt stein tal walde wangen
nordic
Lars Anna Erik Ingrid Johan Emma Anders Karin Mikael Sara Björn/bjorn Åsa/asa Søren/soren Mette Jens Freja Ole Sigrid Mikko Aino Juhani Päivi/paivi Jón/jon Guðrún/gudrun Nils Maja Henrik Linnéa/linnea Øyvind/oyvind Håkon/hakon
Andersson Johansson Hansen Olsen Nielsen Jensen Karlsson Larsson Pedersen Berg Lindberg Nyström/nystrom Sjögren/sjogren Sørensen/sorensen Åkesson/akesson Øberg/oberg Virtanen Korhonen Mäkinen/makinen Jónsdóttir/jonsdottir Holm Lund Dahl Strand Ström/strom
Alm Berg Björk Ek Gran Hög Kvist Lind Lund Nord Ny Öst Ros Sand Sjö Strand Sund Söder Väster Ås
berg blad dahl ell feldt gren gård holm klint kvist löf man mark qvist rud stad ström svik vall wall
Berg Fager Gam Gran Hals Havn Kongs Lille Lund Nord Ny Odder Sand Skog Sol Sten Sund Sønder Vester Åre
borg bro by dal fors gård havn holm hult køping lund mark mo nes rud sjö stad sund vik ås
italian
Marco Giulia Andrea Francesca Luca Sara Alessandro Martina Matteo Chiara Giuseppe Elena Davide Valentina Stefano Silvia Lorenzo Federica Niccolò/niccolo Noè/noe Paolo Laura Riccardo Alice
Rossi Russo Ferrari Esposito Bianchi Romano Colombo Ricci Marino Greco Bruno Gallo Conti De Luca Costa Giordano Mancini Rizzo Lombardi Moretti D'Angelo/dangelo Lo Prète/loprete Nicolò/nicolo
Bel Bon Cal Cam Cap Car Fer Fal Gal Lom Mal Mar Mon Pal Pel Roc Sal Tor Val Vit
acci ani ardi aro atti ella elli etti icci ini ino ione oni otti ucci ugno
Bel Borgo Campo Castel Civita Colle Fonte Forte Monte Piano Ponte Porto Rocca San Santa Torre Valle Villa
aperta bella chiaro d'Oro franca fiore grande lago lungo maggiore marina nova rosso secco verde vecchia
slavic
Jan Anna Piotr Katarzyna Tomáš/tomas Jana Marek Agnieszka Michał/michal Zuzana Łukasz/lukasz Małgorzata/malgorzata Petr Lenka Andrei Elena Ivan Ana Nikola Milica Jiří/jiri Věra/vera Stefan Marija Dávid/david Zsófia/zsofia Šimon/simon Žofie/zofie Goran Jelena
Nowak Kowalski Wiśniewski/wisniewski Wójcik/wojcik Kamiński/kaminski Lewandowski Novák/novak Svoboda Dvořák/dvorak Černý/cerny Horváth/horvath Nagy Szabó/szabo Popescu Ionescu Petrović/petrovic Jovanović/jovanovic Kovač/kovac Horvat Papadopoulos Zieliński/zielinski Žukauskas/zukauskas Bērziņš/berzins
Bor Brod Dob Dub Gor Grab Hol Jas Kal Klim Kos Kraj Lip Mal Nov Ost Pol Sok Star Vol Zal
acki an ar ecki ek eński ev ič iček inski ka ko nik ov ovič owski ský ura wicz yk
Biala Brod Dobr Dub Gor Hrad Jab Kamen Klad Kras Lip Lub Mal Nov Ost Pol Rad Slav Star Zag
any ava brod ec eň gora grad ice in ina iny ów ovo sk sław ště tice více vo wice
cyrillic
Александр/aleksandr Анна/anna Дмитрий/dmitrii Елена/elena Сергей/sergei Ольга/olga Андрій/andrii Наталія/nataliia Іван/ivan Марія/mariia Aleksandr Anna Dmitry Elena Sergey Olga Andriy Nataliya Ivan Maria Георги/georgi Иван/ivan Тарас/taras Юлія/yuliia Nikolay Irina
Иванов/ivanov Петров/petrov Шевченко/shevchenko Коваленко/kovalenko Бондаренко/bondarenko Ivanov Petrov Shevchenko Kovalenko Bondarenko Димитров/dimitrov Георгиев/georgiev Smirnov Kuznetsov Ткаченко/tkachenko Melnyk Popov Соколов/sokolov Volkov Морозов/morozov
Bel Bog Bor Chern Dan Fed Gol Gor Gri Kar Kol Kra Lev Mak Mir Nik Pav Rom Sok Tar Vas Zel
aev anov enko evich in itsky iuk ko ov ovsky sky uk yan yev
Bel Bor Chern Dnepr Dob Gor Iv Kam Kras Kirov Lub Mar Nik Nov Pav Petro Sev Slav Star Zelen
a burg gorod grad ino insk ka ke lovsk ny odarsk opol ovo ovsk pol sk ske stok yansk
turkish
Mehmet Ayşe/ayse Mustafa Fatma Ahmet Zeynep Ali Elif Hüseyin/huseyin Emine Emre Merve Çağrı/cagri Gülşen/gulsen İbrahim/ibrahim Özlem/ozlem Murat Selin Burak Büşra/busra Oğuz/oguz Şule/sule
Yılmaz/yilmaz Kaya Demir Çelik/celik Şahin/sahin Yıldız/yildiz Yıldırım/yildirim Öztürk/ozturk Aydın/aydin Özdemir/ozdemir Arslan Doğan/dogan Kılıç/kilic Aslan Çetin/cetin Kara Koç/koc Kurt Özkan/ozkan Şimşek/simsek
Ak Al Altın Ay Bay Can Demir Er Gök Gül Kara Kaya Koç Kor Oz Sarı Taş Tek Uz Yal
ay bulut can çı demir dağ er gün kaya lı man oğlu öz soy su tan taş türk yol yurt
Ak Al Bahçe Beyaz Çam Deniz Gök Göl Güzel Kara Kızıl Koca Orta Sarı Taş Yeni Yeşil
bağ burun çay dağ dere hisar kale kent köy oba ova pınar saray su şehir tepe yaka yurt
arabic
Mohammed Fatima Ahmed Aisha Ali Mariam Omar Nour Youssef Layla Khaled Sara Hassan Huda محمد/mohammed فاطمة/fatima أحمد/ahmed مريم/mariam Ibrahim Zainab Abdullah Rania Tariq Salma خالد/khaled ليلى/layla
Hassan Ali Ahmed Khan Ibrahim Mahmoud Saleh Al-Rashid/alrashid Al-Farsi/alfarsi Haddad Khalil Mansour Nasser Aziz Farouk Benali الحسن/alhassan العلي/alali Bouazizi Qasim Hamdan Sharif Sayed Younis
Abd Al Ben Bou Dar El Fah Ghan Had Jab Kar Mah Mas Naj Qad Rah Sab Tah Waz Zay
adi aher ali ami an ani ari awi aya eem er i id im ir oud our ri wan zi
Ain Al Bab Bir Dar El Hay Jebel Kafr Madinat Qasr Ras Sidi Tel Umm Wadi
 Abyad  Ahmar  Bahr  Daoud  Fahd  Ghar  Hamra  Jadida  Kabir  Malik  Nahr  Noor  Qamar  Rahma  Salam  Zahra
indian
Amit Priya Rahul Anjali Raj Neha Sanjay Pooja Vijay Kavita Arjun Sneha Rohan Divya Suresh Lakshmi Anil Meera Vikram Asha राहुल/rahul प्रिया/priya Deepak Sunita Karthik Ananya Imran Ayesha Farhan Nadia
Sharma Patel Kumar Singh Gupta Reddy Khan Nair Iyer Rao Das Mehta Joshi Verma Chaudhary Mukherjee Banerjee Desai Shah Agarwal शर्मा/sharma पटेल/patel Ahmed Hussain Fernando Perera Rahman Islam
Amar Bal Chandra Dev Gan Hari Indra Jay Kali Lok Mani Nara Pad Prem Ram Sat Shiv Sur Vish Yash
appa bhai das dhar eja endra esh gopal kar krishnan mani moorthy nathan pal prasad raj rao swamy vardhan wala
Amar Ananda Bhim Chandra Dev Fateh Ganga Hari Jaya Kali Kota Lakshmi Mani Nava Raj Ram Shanti Sita Surya Vijaya
bad chand gaon garh ganj kheda konda kot mangalam nagar palli pattinam peta pur puram sar wada war
chinese
Wei Fang Ming Li Jun Yan Lei Jing Hao Xin 伟/wei 芳/fang 明/ming 丽/li 军/jun 静/jing 浩然/haoran 子涵/zihan Tao Mei Qiang Xiu Bin Hui 建国/jianguo 雨桐/yutong
Wang Li Zhang Liu Chen Yang Huang Zhao Wu Zhou 王/wang 李/li 张/zhang 刘/liu 陈/chen 杨/yang 黄/huang Xu Sun Ma Zhu Hu Guo He Lin 欧阳/ouyang Gao Luo
Ba Chao Da Feng Gui Han Jia Kun Lan Mo Nan Ou Pei Qin Rui Shao Tong Xi Yao Zhen
bai cen dong fei gu hai jing kang lin ming ning ping qiao rong shan tian wen xiang yu zi
An Bei Chang Da Dong Fu Guang Hai Huai Jia Jin Lan Nan Qing Shan Shao Tai Wu Xi Yang Zhen
an bo chang chuan dong he hu jiang jing kou ling men ning ping qiu shan tang xing yang zhou
japanese
Hiroshi Yuki Takashi Sakura Kenji Yoko Satoshi Keiko Haruto Yui 太郎/taro 花子/hanako 健太/kenta 美咲/misaki 翔太/shota 陽菜/hina Daiki Aoi Ryo Mei 直樹/naoki 真由美/mayumi
Sato Suzuki Takahashi Tanaka Watanabe Ito Yamamoto Nakamura Kobayashi Kato 佐藤/sato 鈴木/suzuki 高橋/takahashi 田中/tanaka 渡辺/watanabe 伊藤/ito 山本/yamamoto 中村/nakamura Yoshida Yamada Sasaki Mori Ikeda
Aki Asa Fuji Hara Hashi Ishi Iwa Kawa Kuro Matsu Mina Naka Nishi Oka Shima Taka Tani Yama Yoshi
be da gami guchi hara i kawa ki moto mura no oka sawa shima shita ta tani ura ya zaki
Aki Asa Fuji Hama Higashi Ishi Kita Kuma Matsu Mina Naga Nishi Oka Saka Shima Taka Toyo Uji Yama Yoko
da gata gaya hama hara hashi kawa ki machi moto mori mura no oka saki shima ta tsu ura yama
korean
Minjun Seoyeon Jihoon Jiwoo Hyun Soojin Donghyun Yuna 민준/minjun 서연/seoyeon 지훈/jihoon 지우/jiwoo Sungmin Hana Taeyang Eunji 하은/haeun 도윤/doyun
Kim Lee Park Choi Jung Kang Cho Yoon Jang Lim 김/kim 이/lee 박/park 최/choi 정/jung Han Oh Seo Shin Kwon
Baek Bong Dae Dong Eun Gwang Hwa Hye In Jae Jin Kyung Mi Nam Sang Seok Seung Tae Woo Young
ah bin cheol gu gyu hak ho hwan jae jun ki kwon min nam rim seok soo tak won yeol
An Bu Cheon Chung Dae Dong Gang Gim Gwang Gyeong Han In Jeon Jin Mok Nam Po Seo Su Ul Won Yeo
cheon dong dae gok gu hae hang ju myeon nam nae pa ri san seong su won yang yeong
asian
Budi Siti Agus Dewi Nguyễn/nguyen Linh Minh Hương/huong Juan Maria Jose Angelica Somchai Siriporn Ahmad Nurul Wei Li Đức/duc Thảo/thao Rizky Putri Mark Jasmine Hafiz Aisyah Bảo/bao Ngọc/ngoc
Santoso Wijaya Nguyễn/nguyen Trần/tran Lê/le Phạm/pham Santos Reyes Cruz Tan Lim Wong Ismail Abdullah Hidayat Saputra Hoàng/hoang Đặng/dang Garcia Mendoza Chaiyasit Sukhum Kurniawan Pratama
Ang Bang Chai Darm Gun Han Jay Kus Lim Mah Nar Pra Rat Sar Sri Sup Tan War Wi Yan
adi ana ang anto chai di djaja ika kul mana nata nto pong rak sak santi sono tama wan yono
Ban Batu Bukit Chiang Dong Hai Ka Kota Kuala Lam Long Nam Nong Pak Phu San Song Sungai Tan Udon Vinh
 An  Baru  Besar  Dao  Duc  Giang  Hoa  Indah  Jaya  Khe  Lai  Mai  Nai  Phong  Rai  Rejo  Tho  Thani  Yen
african
Chinedu Amina Emeka Ngozi Kwame Abena Thabo Lerato Sipho Nomsa Juma Wanjiru Tendai Chipo Adébáyọ̀/adebayo Olúwaṣeun/oluwaseun Peter Grace John Mercy Samuel Esther Pieter Annelize Daniel Ruth Tesfaye Selam
Okafor Adeyemi Mensah Dlamini Nkosi Mwangi Otieno Moyo Botha Van der Merwe/vandermerwe Abebe Banda Phiri Osei Balogun Eze Kamau Ndlovu Khumalo Owusu Kiplagat Chukwu Tadesse Naidoo
Ab Ade Aki Ban Chi Dia Eku Fal Ge Ka Kwa Mak Man Mba Nde Nku Oba Olu Sa Tsha Uzo Za
bo chi dele do ene gbe ka kwe le lwa ma mbo nda ngwe nyi si tse wale ye zi
Aba Ade Ban Bo Chi Ga Iba Ka Kisu Ko La Ma Mba Mo Na Nya Oyo Ru Sa Tha Um Zo
bane beni di do gale jo kulu lala li lo mba mu na nga ndi ro su thi wa zi`;

export interface NameWords {
  readonly first: string;
  readonly last: string;
  readonly heads: string;
  readonly tails: string;
  readonly places: string;
  readonly placeTails: string;
}

export const NAMES: ReadonlyMap<string, NameWords> = new Map(
  [...NAME_LINES.matchAll(/^(.*)\n(.*)\n(.*)\n(.*)\n(.*)\n(.*)\n(.*)$/gm)].map(
    ([, culture = "", first = "", last = "", heads = "", tails = "", places = "", placeTails = ""]) => [
      culture,
      { first, last, heads, tails, places, placeTails },
    ],
  ),
);

export const CULTURES: readonly string[] = [...NAMES.keys()];

export const COUNTRIES: readonly { readonly name: string; readonly culture: string }[] = [
  ...COUNTRY_LINES.replaceAll("\n", " ").matchAll(/([^:]+):([a-z]+)(?: |$)/g),
]
  .map(([, name = "", culture = ""]) => ({ name, culture }))
  .slice(0, 200);

export const REAL_PLACES: ReadonlyMap<string, string> = new Map(
  [...PLACE_LINES.matchAll(/^([^:]+): (.*)$/gm)].map(([, country = "", states = ""]) => [country, states]),
);
